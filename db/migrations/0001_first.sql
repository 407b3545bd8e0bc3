-- The first schema. Order is by the integer keys, never by a clock. *_at columns are wall-clock milliseconds since the
-- epoch, for people; *_ms columns are durations from the monotonic clock. NULL means absent or not measured, never zero.

-- Content by its SHA-256: messages, system prompts, tool lists, results kept whole, file contents, listings.
CREATE TABLE contents (
    digest TEXT PRIMARY KEY,
    body   BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    parent_id       INTEGER REFERENCES runs(id),
    parent_step     INTEGER,
    parent_position INTEGER,
    root_id         INTEGER NOT NULL,             -- the tree's root; the run itself when it is one
    depth           INTEGER NOT NULL DEFAULT 0,
    agent           TEXT NOT NULL DEFAULT '0',    -- position path in the tree
    goal            TEXT NOT NULL,
    workspace       TEXT NOT NULL,
    provider        TEXT NOT NULL,
    model           TEXT NOT NULL,
    contract        TEXT NOT NULL,
    contract_digest TEXT NOT NULL,
    policy          TEXT NOT NULL,
    policy_digest   TEXT NOT NULL,
    inputs          TEXT NOT NULL,                -- what was read once at the start: system prompt, tools, instructions
    key             TEXT UNIQUE,                  -- idempotent start
    version         TEXT NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('running', 'paused', 'completed')),
    outcome         TEXT,
    stop_reason     TEXT,
    said            TEXT,                         -- the final message
    drive           INTEGER NOT NULL DEFAULT 0,
    fence           INTEGER NOT NULL DEFAULT 0,
    seq             INTEGER NOT NULL DEFAULT 0,   -- of the newest event
    sealed          INTEGER NOT NULL DEFAULT 0,   -- steps sealed
    tokens          INTEGER NOT NULL DEFAULT 0,   -- of sealed steps, as measured
    created_at      INTEGER NOT NULL,
    finished_at     INTEGER,
    trace_removed_at INTEGER
) STRICT;
-- Every index ends in the id, the table's key: a list in the order of ids needs no sorting.
CREATE INDEX runs_parent ON runs (parent_id);
CREATE INDEX runs_root ON runs (root_id);
CREATE INDEX runs_status ON runs (status);
CREATE INDEX runs_outcome ON runs (outcome);
CREATE INDEX runs_workspace ON runs (workspace);
CREATE INDEX runs_provider ON runs (provider);
CREATE INDEX runs_model ON runs (model);
CREATE INDEX runs_created ON runs (created_at);

-- One row a drive: a process taking the run up until it lets go or dies. elapsed_ms is kept current by every commit.
CREATE TABLE drives (
    run_id     INTEGER NOT NULL REFERENCES runs(id),
    drive      INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    elapsed_ms INTEGER NOT NULL DEFAULT 0,
    ended      TEXT,                              -- outcome or pause word; NULL while driven and after a crash
    actor      TEXT NOT NULL,
    sandbox    TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (run_id, drive)
) STRICT, WITHOUT ROWID;

-- Who drives. Taken over only on proof that the owner is dead.
CREATE TABLE leases (
    run_id     INTEGER PRIMARY KEY REFERENCES runs(id),
    fence      INTEGER NOT NULL,
    host       TEXT NOT NULL,
    boot_id    TEXT NOT NULL,
    pid_ns     TEXT NOT NULL,
    pid        INTEGER NOT NULL,
    pid_start  TEXT NOT NULL,
    taken_at   INTEGER NOT NULL
) STRICT;

-- One row a model call that was begun, failed and lost ones included.
CREATE TABLE attempts (
    run_id         INTEGER NOT NULL REFERENCES runs(id),
    attempt        INTEGER NOT NULL,              -- dense per run
    step           INTEGER NOT NULL,
    drive          INTEGER NOT NULL,
    inner          INTEGER NOT NULL DEFAULT 0,    -- a failure inside a fallback chain
    provider       TEXT NOT NULL,
    model          TEXT NOT NULL,
    max_output     INTEGER NOT NULL,
    system         TEXT NOT NULL,                 -- digest
    tools          TEXT NOT NULL,                 -- digest
    keep           INTEGER NOT NULL,              -- messages kept from this agent's request before
    append         TEXT NOT NULL,                 -- JSON list of digests of the messages that are new
    request_digest TEXT NOT NULL,
    estimate       INTEGER NOT NULL,              -- input tokens, estimated
    hold           INTEGER NOT NULL,              -- tokens reserved
    state          TEXT NOT NULL CHECK (state IN ('open', 'answered', 'failed', 'lost')),
    kind           TEXT,
    status         INTEGER,
    message        TEXT,
    hint_ms        INTEGER,
    delay_ms       INTEGER,
    replayed       INTEGER NOT NULL DEFAULT 0,
    answer         TEXT,                          -- digest of the assistant message
    stop           TEXT,
    finish         TEXT,
    served         TEXT,
    answered_model TEXT,
    input          INTEGER,
    output         INTEGER,
    cache_read     INTEGER,
    cache_write    INTEGER,
    reasoning      INTEGER,
    cost_micros    INTEGER,
    first_ms       INTEGER,
    total_ms       INTEGER,
    started_at     INTEGER NOT NULL,
    PRIMARY KEY (run_id, attempt)
) STRICT, WITHOUT ROWID;
CREATE INDEX attempts_step ON attempts (run_id, step, attempt);

-- One row a tool call of an answer, in the answer's order.
CREATE TABLE calls (
    run_id     INTEGER NOT NULL REFERENCES runs(id),
    step       INTEGER NOT NULL,
    position   INTEGER NOT NULL,
    call_id    TEXT NOT NULL,
    name       TEXT NOT NULL,
    arguments  TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('given', 'judged', 'asked', 'decided', 'begun', 'ended')),
    safety     TEXT NOT NULL DEFAULT '',
    reach      TEXT NOT NULL DEFAULT '',
    key        TEXT NOT NULL DEFAULT '',
    act        TEXT NOT NULL DEFAULT '',
    target     TEXT NOT NULL DEFAULT '',
    effect     TEXT NOT NULL DEFAULT '',
    rule       TEXT,
    layer      TEXT,
    repeatable INTEGER NOT NULL DEFAULT 0,
    digest     TEXT NOT NULL DEFAULT '',          -- of what would happen; compared again when it begins
    changed_args TEXT,                            -- arguments as changed by the operator
    listing    TEXT,                              -- digest of the workspace listing before a command
    begun      INTEGER NOT NULL DEFAULT 0,        -- times it was begun
    decision   TEXT NOT NULL DEFAULT '',          -- a short phrase: "wrote a.go", "exec refused"
    result     TEXT,                              -- as the model sees it
    whole      TEXT,                              -- digest of all of it, where the model sees less
    failed     INTEGER NOT NULL DEFAULT 0,
    changed    INTEGER NOT NULL DEFAULT 0,
    exit_code  INTEGER,
    left_running TEXT,                            -- JSON
    duration_ms INTEGER,
    PRIMARY KEY (run_id, step, position)
) STRICT, WITHOUT ROWID;

-- Sealed steps. Only these exist for history, summary, step count and canonical trace.
CREATE TABLE steps (
    run_id     INTEGER NOT NULL REFERENCES runs(id),
    step       INTEGER NOT NULL,
    decision   TEXT NOT NULL,
    tool_call  TEXT NOT NULL,
    said       TEXT NOT NULL,
    tokens     INTEGER NOT NULL,                  -- 0 when the endpoint reported none
    measured   INTEGER NOT NULL,
    changed    INTEGER NOT NULL,
    broken_off TEXT,                              -- why it ended early, NULL when it did not
    sealed_at  INTEGER NOT NULL,
    PRIMARY KEY (run_id, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE files (
    run_id   INTEGER NOT NULL REFERENCES runs(id),
    step     INTEGER NOT NULL,
    position INTEGER NOT NULL,
    path     TEXT NOT NULL,
    source   TEXT NOT NULL CHECK (source IN ('write', 'command')),
    change   TEXT NOT NULL CHECK (change IN ('added', 'modified', 'removed', 'none')),
    mode     INTEGER,
    before_digest TEXT,                           -- NULL: did not exist, or a command's change
    after_digest  TEXT,
    kept     INTEGER NOT NULL DEFAULT 0,          -- both contents are in contents
    done     INTEGER NOT NULL DEFAULT 0,          -- 0: intended, 1: in place
    PRIMARY KEY (run_id, step, position, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE gates (
    run_id   INTEGER NOT NULL REFERENCES runs(id),
    ordinal  INTEGER NOT NULL,                    -- dense per run
    step     INTEGER NOT NULL,
    position INTEGER NOT NULL,                    -- 1-based place in the contract
    phase    TEXT NOT NULL,                       -- command:1, contains:2
    target   TEXT NOT NULL,
    state    TEXT NOT NULL CHECK (state IN ('begun', 'passed', 'failed', 'interrupted')),
    output   TEXT,
    whole    TEXT,
    tampered TEXT,                                -- files the gate names that changed since the start, JSON list
    listing  TEXT,
    duration_ms INTEGER,
    PRIMARY KEY (run_id, ordinal)
) STRICT, WITHOUT ROWID;

CREATE INDEX gates_step ON gates (run_id, step);

-- What shaped a request beside steps: compaction stubs, replan notes, gate output read, words of the operator read.
CREATE TABLE context_facts (
    run_id  INTEGER NOT NULL REFERENCES runs(id),
    ordinal INTEGER NOT NULL,
    step    INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    detail  TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (run_id, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE verdicts (
    run_id   INTEGER NOT NULL REFERENCES runs(id),
    ordinal  INTEGER NOT NULL,
    step     INTEGER NOT NULL,
    position INTEGER,                             -- NULL: not a call (an endpoint, a gate)
    act      TEXT NOT NULL,
    target   TEXT NOT NULL,
    effect   TEXT NOT NULL,
    rule     TEXT,
    layer    TEXT,
    part     TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (run_id, ordinal)
) STRICT, WITHOUT ROWID;

-- Questions to a person. A row exists before anybody is asked; the first decision wins.
CREATE TABLE requests (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id     INTEGER NOT NULL REFERENCES runs(id),
    step       INTEGER NOT NULL,
    position   INTEGER,
    agent      TEXT NOT NULL,
    act        TEXT NOT NULL,
    target     TEXT NOT NULL,
    payload    TEXT NOT NULL,
    digest     TEXT NOT NULL,
    covers     TEXT NOT NULL DEFAULT '',          -- what the digest cannot cover, for the card
    said       TEXT NOT NULL DEFAULT '',          -- the model's own words beside the call
    rule       TEXT,
    layer      TEXT,
    part       TEXT NOT NULL DEFAULT '',
    sandbox    TEXT NOT NULL DEFAULT '',
    model      TEXT NOT NULL DEFAULT '',          -- the model that asked, as answered
    state      TEXT NOT NULL CHECK (state IN ('open', 'decided', 'superseded')),
    decision   TEXT CHECK (decision IN ('approve', 'deny', 'defer')),
    reason     TEXT NOT NULL DEFAULT '',
    stop       INTEGER NOT NULL DEFAULT 0,        -- deny and end the run
    changed_args TEXT,
    deferred   INTEGER NOT NULL DEFAULT 0,        -- put off at least once
    decided_by TEXT,                              -- JSON actor
    asked_at   INTEGER NOT NULL,
    decided_at INTEGER
) STRICT;
CREATE INDEX requests_open ON requests (run_id) WHERE state = 'open';
CREATE INDEX requests_run ON requests (run_id, step);

CREATE TABLE controls (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id       INTEGER NOT NULL REFERENCES runs(id),
    kind         TEXT NOT NULL CHECK (kind IN ('cancel', 'kill', 'pause', 'continue', 'tell', 'budget')),
    body         TEXT NOT NULL DEFAULT '',        -- a tell's words, a budget change as JSON
    reason       TEXT NOT NULL DEFAULT '',
    requested_by TEXT NOT NULL,                   -- JSON actor
    requested_at INTEGER NOT NULL,
    observed_at  INTEGER,
    point        TEXT,                            -- the safe point that saw it
    stopped_at   INTEGER,
    latency_ms   INTEGER
) STRICT;
CREATE INDEX controls_run ON controls (run_id);

-- Journal of calls that must not happen twice.
CREATE TABLE effects (
    key        TEXT PRIMARY KEY,
    run_id     INTEGER NOT NULL REFERENCES runs(id),
    step       INTEGER NOT NULL,
    position   INTEGER NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('open', 'ended', 'resolved')),
    result     TEXT,
    resolution TEXT,                              -- done, retry, fail
    reason     TEXT,
    resolved_by TEXT,
    at         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX effects_run ON effects (run_id, step, position);

CREATE TABLE sandbox_facts (
    run_id  INTEGER NOT NULL REFERENCES runs(id),
    ordinal INTEGER NOT NULL,
    step    INTEGER NOT NULL,
    kind    TEXT NOT NULL,                        -- create, exec, cap_hit, destroy, gate_phase_failed
    backend TEXT,
    detail  TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (run_id, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE spans (
    run_id      INTEGER NOT NULL REFERENCES runs(id),
    span        INTEGER NOT NULL,
    parent      INTEGER,
    kind        TEXT NOT NULL CHECK (kind IN ('run', 'step', 'model', 'call', 'question', 'retry', 'gate', 'pause')),
    name        TEXT NOT NULL,
    step        INTEGER NOT NULL,
    position    INTEGER,
    drive       INTEGER NOT NULL,
    started_at  INTEGER NOT NULL,
    start_ms    INTEGER NOT NULL,                 -- since the drive began
    duration_ms INTEGER,                          -- NULL: open, or cut off by a crash
    outcome     TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (run_id, span)
) STRICT, WITHOUT ROWID;

-- Notices. seq is dense per run, which proves that nothing is missing; cursor orders the whole store.
CREATE TABLE events (
    cursor INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id INTEGER NOT NULL,
    seq    INTEGER NOT NULL,
    tag    TEXT NOT NULL,
    body   TEXT NOT NULL,
    UNIQUE (run_id, seq)
) STRICT;

CREATE TABLE summaries (
    run_id        INTEGER PRIMARY KEY REFERENCES runs(id),
    outcome       TEXT NOT NULL,
    success       INTEGER NOT NULL,
    steps         INTEGER NOT NULL,
    tokens        INTEGER NOT NULL,
    duration_ms   INTEGER NOT NULL,
    finished_at   INTEGER NOT NULL,
    detail        TEXT NOT NULL                   -- the rest, JSON
) STRICT;

-- Who did or authorised what, under which rule. Chained; see the audit package.
CREATE TABLE audit (
    seq           INTEGER PRIMARY KEY,
    body          BLOB NOT NULL,                  -- canonical bytes
    prev          TEXT NOT NULL,
    hash          TEXT NOT NULL,
    run_id        INTEGER,                        -- copies, for finding rows; body is what is chained
    step          INTEGER,
    action        TEXT NOT NULL,
    at            INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_run ON audit (run_id, seq);
CREATE TRIGGER audit_next BEFORE INSERT ON audit WHEN NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM audit)
BEGIN SELECT RAISE(ABORT, 'audit rows are only appended'); END;
CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'audit rows are never changed'); END;
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'audit rows are never removed'); END;
