"""Publications that define the measures and the tests, as BibTeX entries."""

from __future__ import annotations

from collections.abc import Iterable

BY_SOURCE: dict[str, tuple[str, ...]] = {
    "Harbecke et al. 2022": ("harbecke2022",),
    "Gao et al. 2021": ("gao2021",),
    "Han et al. 2019, the OpenNRE toolkit": ("han2019",),
    "Davis and Goadrich 2006": ("davis2006",),
    "Hendrickx et al. 2010, the task's scorer": ("hendrickx2010",),
    "Tjong Kim Sang and De Meulder 2003": ("tjongkimsang2003",),
    "Chinchor and Sundheim 1993; Segura-Bedmar et al. 2013": ("chinchor1993", "segurabedmar2013"),
    "Weber et al., WRF: Weighted Rouge-F1 Metric for Entity Recognition": ("weber2023",),
    "Taillé et al. 2020": ("taille2020",),
}
TESTS_OF_RUNS = ("welch1947", "sawilowsky2009")
TESTS_OF_ITEMS = ("noreen1989", "efron1979")
OF_TESTS = "holm1979"

ENTRIES = {
    "harbecke2022": r"""@inproceedings{harbecke2022,
  author = {Harbecke, David and Chen, Yuxuan and Hennig, Leonhard and Alt, Christoph},
  title = {Why only Micro-{F1}? Class Weighting of Measures for Relation Classification},
  booktitle = {Proceedings of NLP Power! The First Workshop on Efficient Benchmarking in NLP},
  pages = {32--41},
  year = {2022},
  url = {https://aclanthology.org/2022.nlppower-1.4}
}""",
    "gao2021": r"""@inproceedings{gao2021,
  author = {Gao, Tianyu and Han, Xu and Bai, Yuzhuo and Qiu, Keyue and Xie, Zhiyu and Lin, Yankai and
            Liu, Zhiyuan and Li, Peng and Sun, Maosong and Zhou, Jie},
  title = {Manual Evaluation Matters: Reviewing Test Protocols of Distantly Supervised Relation Extraction},
  booktitle = {Findings of the Association for Computational Linguistics: ACL-IJCNLP 2021},
  year = {2021},
  url = {https://aclanthology.org/2021.findings-acl.112}
}""",
    "han2019": r"""@inproceedings{han2019,
  author = {Han, Xu and Gao, Tianyu and Yao, Yuan and Ye, Deming and Liu, Zhiyuan and Sun, Maosong},
  title = {{OpenNRE}: An Open and Extensible Toolkit for Neural Relation Extraction},
  booktitle = {Proceedings of EMNLP-IJCNLP 2019: System Demonstrations},
  pages = {169--174},
  year = {2019}
}""",
    "davis2006": r"""@inproceedings{davis2006,
  author = {Davis, Jesse and Goadrich, Mark},
  title = {The Relationship between Precision-Recall and {ROC} Curves},
  booktitle = {Proceedings of the 23rd International Conference on Machine Learning},
  pages = {233--240},
  year = {2006},
  doi = {10.1145/1143844.1143874}
}""",
    "hendrickx2010": r"""@inproceedings{hendrickx2010,
  author = {Hendrickx, Iris and Kim, Su Nam and Kozareva, Zornitsa and Nakov, Preslav and
            {\'O} S{\'e}aghdha, Diarmuid and Pad{\'o}, Sebastian and Pennacchiotti, Marco and
            Romano, Lorenza and Szpakowicz, Stan},
  title = {{SemEval}-2010 Task 8: Multi-Way Classification of Semantic Relations between Pairs of Nominals},
  booktitle = {Proceedings of the 5th International Workshop on Semantic Evaluation},
  pages = {33--38},
  year = {2010}
}""",
    "tjongkimsang2003": r"""@inproceedings{tjongkimsang2003,
  author = {{Tjong Kim Sang}, Erik F. and {De Meulder}, Fien},
  title = {Introduction to the {CoNLL}-2003 Shared Task: Language-Independent Named Entity Recognition},
  booktitle = {Proceedings of the Seventh Conference on Natural Language Learning at HLT-NAACL 2003},
  pages = {142--147},
  year = {2003}
}""",
    "chinchor1993": r"""@inproceedings{chinchor1993,
  author = {Chinchor, Nancy and Sundheim, Beth},
  title = {{MUC}-5 Evaluation Metrics},
  booktitle = {Fifth Message Understanding Conference ({MUC}-5): Proceedings of a Conference Held in
               Baltimore, Maryland, August 25-27, 1993},
  year = {1993}
}""",
    "segurabedmar2013": r"""@inproceedings{segurabedmar2013,
  author = {Segura-Bedmar, Isabel and Mart{\'i}nez, Paloma and Herrero-Zazo, Mar{\'i}a},
  title = {{SemEval}-2013 Task 9: Extraction of Drug-Drug Interactions from Biomedical Texts
           ({DDIExtraction} 2013)},
  booktitle = {Second Joint Conference on Lexical and Computational Semantics ({*SEM}), Volume 2:
               Proceedings of the Seventh International Workshop on Semantic Evaluation},
  pages = {341--350},
  year = {2013}
}""",
    "weber2023": r"""@inproceedings{weber2023,
  author = {Weber, Lukas Jonathan and Jothi Ramalingam, Krishnan and Beyer, Matthias and Zimmermann, Axel},
  title = {{WRF}: Weighted Rouge-{F1} Metric for Entity Recognition},
  booktitle = {Proceedings of the 4th Workshop on Evaluation and Comparison of NLP Systems},
  pages = {1--11},
  year = {2023},
  url = {https://aclanthology.org/2023.eval4nlp-1.1}
}""",
    "taille2020": r"""@inproceedings{taille2020,
  author = {Taill{\'e}, Bruno and Guigue, Vincent and Scoutheeten, Geoffrey and Gallinari, Patrick},
  title = {Let's Stop Incorrect Comparisons in End-to-end Relation Extraction!},
  booktitle = {Proceedings of the 2020 Conference on Empirical Methods in Natural Language Processing},
  year = {2020}
}""",
    "welch1947": r"""@article{welch1947,
  author = {Welch, B. L.},
  title = {The Generalization of `{Student's}' Problem when Several Different Population
           Variances are Involved},
  journal = {Biometrika},
  volume = {34},
  number = {1-2},
  pages = {28--35},
  year = {1947}
}""",
    "holm1979": r"""@article{holm1979,
  author = {Holm, Sture},
  title = {A Simple Sequentially Rejective Multiple Test Procedure},
  journal = {Scandinavian Journal of Statistics},
  volume = {6},
  pages = {65--70},
  year = {1979}
}""",
    "noreen1989": r"""@book{noreen1989,
  author = {Noreen, Eric W.},
  title = {Computer-Intensive Methods for Testing Hypotheses: An Introduction},
  publisher = {Wiley},
  year = {1989}
}""",
    "efron1979": r"""@article{efron1979,
  author = {Efron, Bradley},
  title = {Bootstrap Methods: Another Look at the Jackknife},
  journal = {The Annals of Statistics},
  volume = {7},
  number = {1},
  pages = {1--26},
  year = {1979}
}""",
    "sawilowsky2009": r"""@article{sawilowsky2009,
  author = {Sawilowsky, Shlomo S.},
  title = {New Effect Size Rules of Thumb},
  journal = {Journal of Modern Applied Statistical Methods},
  volume = {8},
  number = {2},
  year = {2009}
}""",
}


def entries(sources: Iterable[str], *, over_runs: bool, over_items: bool) -> list[str]:
    """Return the entries behind sources of measures, and those of the tests that there are."""
    keys = [key for source in dict.fromkeys(sources) for key in BY_SOURCE.get(source, ())]
    keys += [*(TESTS_OF_RUNS if over_runs else ()), *(TESTS_OF_ITEMS if over_items else ())]
    keys += [OF_TESTS] if over_runs or over_items else []
    return [ENTRIES[key] for key in dict.fromkeys(keys)]
