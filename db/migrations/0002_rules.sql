-- Rules that a person gave for the rest of one run, with the decision that they came with.
CREATE TABLE rules (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id     INTEGER NOT NULL REFERENCES runs(id),
    request_id INTEGER NOT NULL,                  -- the question that it came with
    act        TEXT NOT NULL,
    match      TEXT NOT NULL,                     -- JSON list of words or patterns
    made_by    TEXT NOT NULL,                     -- JSON actor
    made_at    INTEGER NOT NULL,
    revoked_by TEXT,
    revoked_at INTEGER
) STRICT;
CREATE INDEX rules_run ON rules (run_id);
-- What was decided before about the same thing.
CREATE INDEX requests_target ON requests (act, target);
CREATE INDEX requests_act ON requests (act);
