// The known answer of a gold question, marked on the page of its sentence.

import { handlesKey } from "./own_answer.js";

document.addEventListener("keydown", (event) => handlesKey(event));
