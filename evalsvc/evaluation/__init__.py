"""From predictions to boards: benchmark, submission, evaluation, score, leaderboard."""
