-- Statements that write to PostgreSQL. Keys and rows come as one JSON document each, a list of lists:
-- that is far cheaper than a message or an array element per value. A statement that takes rows has a parameter of its
-- own name, so that several statements can be sent together. The values that a statement decodes, or casts to `jsonb`,
-- `json` or `tsvector`, are encoded by `ENCODERS` in `statements.py`.
--
-- The server plans a statement once, for a number of keys that it guesses, and with the sizes that the tables have at
-- that time: a join would read whole tables. So rows are looked up one by one (`CROSS JOIN LATERAL`, with `OFFSET 0` or
-- a lock that keeps it from becoming a join), and what every group updates is written with `ON CONFLICT`.

-- lock_sessions: Lock sessions in the order of their ids. Read their counters, and the revision of the tables.
SELECT found.*, (SELECT version_num FROM callboard_version)
FROM (SELECT (k->>0) COLLATE "C" AS id FROM jsonb_array_elements(%(keys)s::jsonb) AS listed(k) ORDER BY id) AS key
CROSS JOIN LATERAL (
    SELECT id, last_seq, last_entry, last_execution, last_key, writes,
        coalesce(made_at, (SELECT created_at FROM session_tool_state WHERE session_id = sessions.id)),
        active_at, user_id
    FROM sessions WHERE id = key.id FOR UPDATE OF sessions
) AS found;

-- read_states: Read the users of sessions, and their unconsumed results.
SELECT found.*
FROM (SELECT k->>0 AS session_id FROM jsonb_array_elements(%(keys)s::jsonb) AS listed(k)) AS key
CROSS JOIN LATERAL (
    SELECT session_id, user_id, unconsumed_results::text
    FROM session_tool_state WHERE session_id = key.session_id OFFSET 0
) AS found;

-- lock_executions: Lock and read the fields of executions that a change is checked against.
SELECT found.*
FROM (
    SELECT (k->>0) COLLATE "C" AS session_id, (k->>1) COLLATE "C" AS id
    FROM jsonb_array_elements(%(keys)s::jsonb) AS listed(k)
    ORDER BY session_id, id
) AS key
CROSS JOIN LATERAL (
    SELECT session_id, id, place, call_id, owner, completed_at, cancelling
    FROM executions WHERE session_id = key.session_id AND id = key.id FOR UPDATE
) AS found;

-- read_calls: Read which call ids are in use.
SELECT found.*
FROM (SELECT k->>0 AS session_id, k->>1 AS call_id FROM jsonb_array_elements(%(keys)s::jsonb) AS listed(k)) AS key
CROSS JOIN LATERAL (
    SELECT session_id, call_id FROM executions WHERE session_id = key.session_id AND call_id = key.call_id OFFSET 0
) AS found;

-- lock_turns: Lock and read the fields of turns that a change is checked against.
SELECT found.*
FROM (
    SELECT (k->>0) COLLATE "C" AS session_id, (k->>1)::bigint AS number
    FROM jsonb_array_elements(%(keys)s::jsonb) AS listed(k)
    ORDER BY session_id, number
) AS key
CROSS JOIN LATERAL (
    SELECT session_id, number, owner, completed_at, cancelling
    FROM turns WHERE session_id = key.session_id AND number = key.number FOR UPDATE
) AS found;

-- lock_inputs: Lock inputs, and read which exist.
SELECT found.*
FROM (
    SELECT (k->>0) COLLATE "C" AS session_id, (k->>1) COLLATE "C" AS id
    FROM jsonb_array_elements(%(keys)s::jsonb) AS listed(k)
    ORDER BY session_id, id
) AS key
CROSS JOIN LATERAL (
    SELECT session_id, id FROM inputs WHERE session_id = key.session_id AND id = key.id FOR UPDATE
) AS found;

-- read_requests: Read the sessions and statuses of requests.
SELECT found.*
FROM (SELECT k->>0 AS id FROM jsonb_array_elements(%(keys)s::jsonb) AS listed(k)) AS key
CROSS JOIN LATERAL (SELECT id, session_id, status FROM requests WHERE id = key.id OFFSET 0) AS found;

-- read_idempotency_keys: Read the idempotency keys that are in use.
SELECT found.*
FROM (SELECT k->>0 AS session_id, k->>1 AS key FROM jsonb_array_elements(%(keys)s::jsonb) AS listed(k)) AS wanted
CROSS JOIN LATERAL (
    SELECT session_id, key, fingerprint, seq, answer, at
    FROM idempotency_keys WHERE session_id = wanted.session_id AND key = wanted.key OFFSET 0
) AS found;

-- create_sessions: Insert rows of new sessions, so that they can be locked. Existing rows stay.
INSERT INTO sessions (id, made_at, open, first_seq, last_seq, last_entry, last_execution, last_key, active_at)
SELECT
    r->>0, (r->>1)::float8, (r->>2)::boolean, (r->>3)::bigint, (r->>4)::bigint, (r->>5)::bigint, (r->>6)::bigint,
    (r->>7)::bigint, (r->>8)::float8
FROM jsonb_array_elements(%(create_sessions)s::jsonb) AS listed(r)
ON CONFLICT (id) DO NOTHING;

-- delete_sessions: Delete rows of sessions whose creation did not fit.
DELETE FROM sessions WHERE id IN (SELECT k->>0 FROM jsonb_array_elements(%(keys)s::jsonb) AS listed(k));

-- update_sessions: Update the settings of sessions that their owners change.
UPDATE sessions SET
    channel = r->>1, allow = (r->>2)::jsonb, wake = r->>3, open = (r->>4)::boolean, writes = (r->>5)::bigint,
    user_id = r->>6
FROM jsonb_array_elements(%(update_sessions)s::jsonb) AS listed(r)
WHERE sessions.id = (r->>0);

-- set_auto_titles: Set the automatic titles of sessions that have none.
UPDATE sessions SET auto_title = r->>1, auto_title_folded = r->>2, writes = writes + 1
FROM jsonb_array_elements(%(set_auto_titles)s::jsonb) AS listed(r)
WHERE sessions.id = (r->>0) AND auto_title IS NULL;

-- set_titles: Set or remove the titles that people give. Takes the number of changes that did it.
UPDATE sessions SET given_title = r->>1, given_title_folded = r->>2, writes = writes + (r->>3)::bigint
FROM jsonb_array_elements(%(set_titles)s::jsonb) AS listed(r)
WHERE sessions.id = (r->>0);

-- write_states: Insert or update the state of sessions. The user and the time of creation stay.
INSERT INTO session_tool_state
    (session_id, user_id, namespaces, available_tools, unconsumed_results, created_at, updated_at)
SELECT
    r->>0, r->>1, (r->>2)::jsonb, (r->>3)::jsonb, (r->>4)::jsonb, (r->>5)::float8, (r->>6)::float8
FROM jsonb_array_elements(%(write_states)s::jsonb) AS listed(r)
ON CONFLICT (session_id) DO UPDATE SET
    namespaces = excluded.namespaces, available_tools = excluded.available_tools,
    unconsumed_results = excluded.unconsumed_results, updated_at = excluded.updated_at;

-- update_unconsumed: Update the unconsumed results of sessions, which exist: nothing is inserted.
INSERT INTO session_tool_state (session_id, unconsumed_results, user_id, available_tools, created_at, updated_at)
SELECT r->>0, (r->>1)::jsonb, '', '[]', 0, 0
FROM jsonb_array_elements(%(update_unconsumed)s::jsonb) AS listed(r)
ON CONFLICT (session_id) DO UPDATE SET unconsumed_results = excluded.unconsumed_results;

-- append_unconsumed: Add results to the unconsumed ones of sessions, which exist. Those that wait keep their position.
INSERT INTO session_tool_state (session_id, unconsumed_results, user_id, available_tools, created_at, updated_at)
SELECT r->>0, jsonb_agg(r->>1 ORDER BY position), '', '[]', 0, 0
FROM jsonb_array_elements(%(append_unconsumed)s::jsonb) WITH ORDINALITY AS listed(r, position)
GROUP BY r->>0
ON CONFLICT (session_id) DO UPDATE SET unconsumed_results = session_tool_state.unconsumed_results || coalesce(
    (
        SELECT jsonb_agg(late ORDER BY position)
        FROM jsonb_array_elements_text(excluded.unconsumed_results) WITH ORDINALITY AS added(late, position)
        WHERE NOT session_tool_state.unconsumed_results ? late
    ),
    '[]'
);

-- write_executions: Insert or update executions. Their place in the session stays.
INSERT INTO executions (
    session_id, id, user_id, call_id, tool, kind, fingerprint, status, priority, attempt, max_attempts, late, parent_id,
    queued_at, started_at, completed_at, owner, retry_at, queue, trace, document, shown, errors, value, error,
    place, cancelling
)
SELECT
    r->>0, r->>1, r->>2, r->>3, r->>4, r->>5, r->>6, r->>7, (r->>8)::bigint, (r->>9)::bigint, (r->>10)::bigint,
    (r->>11)::boolean, r->>12, (r->>13)::float8, (r->>14)::float8, (r->>15)::float8, r->>16, (r->>17)::float8, r->>18,
    r->>19, decode(r->>20, 'base64'), (r->>21)::jsonb, (r->>22)::jsonb, (r->>23)::jsonb, (r->>24)::jsonb,
    (r->>25)::bigint, (r->>26)::boolean
FROM jsonb_array_elements(%(write_executions)s::jsonb) AS listed(r)
ON CONFLICT (session_id, id) DO UPDATE SET
    user_id = excluded.user_id, call_id = excluded.call_id, tool = excluded.tool, kind = excluded.kind,
    fingerprint = excluded.fingerprint, status = excluded.status, priority = excluded.priority,
    attempt = excluded.attempt, max_attempts = excluded.max_attempts, late = excluded.late,
    parent_id = excluded.parent_id, queued_at = excluded.queued_at, started_at = excluded.started_at,
    completed_at = excluded.completed_at, owner = excluded.owner, retry_at = excluded.retry_at,
    queue = excluded.queue, trace = excluded.trace, document = excluded.document, shown = excluded.shown,
    errors = excluded.errors, value = excluded.value, error = excluded.error, cancelling = excluded.cancelling;

-- cancel_executions: Mark executions to be cancelled.
UPDATE executions SET cancelling = true
FROM jsonb_array_elements(%(cancel_executions)s::jsonb) AS listed(r)
WHERE executions.session_id = (r->>0) AND executions.place = (r->>1)::bigint;

-- receive_results: Mark executions whose callers received their results.
UPDATE executions SET late = false
FROM jsonb_array_elements(%(receive_results)s::jsonb) AS listed(r)
WHERE executions.session_id = (r->>0) AND executions.place = (r->>1)::bigint;

-- mark_ready: Mark those of the given executions without an owner that can go on: see `Owners.recover`.
UPDATE executions SET ready = (
    cancelling
    OR queue IS NULL AND EXISTS (
        SELECT 1 FROM requests
        WHERE session_id = executions.session_id AND execution_id = executions.id AND status = 'answered'
    )
    OR (
        queue IS NULL
        AND EXISTS (SELECT 1 FROM requests WHERE session_id = executions.session_id AND execution_id = executions.id)
        AND NOT EXISTS (
            SELECT 1 FROM requests
            WHERE session_id = executions.session_id AND execution_id = executions.id AND status = 'open'
        )
    )
)
WHERE owner IS NULL AND completed_at IS NULL
    AND (session_id, id) IN (SELECT k->>0, k->>1 FROM jsonb_array_elements(%(keys)s::jsonb) AS listed(k));

-- write_requests: Insert or update requests.
INSERT INTO requests (
    id, session_id, user_id, execution_id, kind, purpose, tool, fingerprint, status,
    created_at, expires_at, answered_at, payload, schema, answer
)
SELECT
    r->>0, r->>1, r->>2, r->>3, r->>4, r->>5, r->>6, r->>7, r->>8, (r->>9)::float8, (r->>10)::float8, (r->>11)::float8,
    (r->>12)::jsonb, (r->>13)::jsonb, (r->>14)::jsonb
FROM jsonb_array_elements(%(write_requests)s::jsonb) AS listed(r)
ON CONFLICT (id) DO UPDATE SET
    session_id = excluded.session_id, user_id = excluded.user_id, execution_id = excluded.execution_id,
    kind = excluded.kind, purpose = excluded.purpose, tool = excluded.tool, fingerprint = excluded.fingerprint,
    status = excluded.status, created_at = excluded.created_at, expires_at = excluded.expires_at,
    answered_at = excluded.answered_at, payload = excluded.payload, schema = excluded.schema, answer = excluded.answer;

-- write_turns: Insert or update turns.
INSERT INTO turns (session_id, turn_id, user_id, status, started_at, completed_at, owner, usage, number, cancelling)
SELECT
    r->>0, r->>1, r->>2, r->>3, (r->>4)::float8, (r->>5)::float8, r->>6, (r->>7)::jsonb, (r->>8)::bigint,
    (r->>9)::boolean
FROM jsonb_array_elements(%(write_turns)s::jsonb) AS listed(r)
ON CONFLICT (session_id, number) DO UPDATE SET
    turn_id = excluded.turn_id, user_id = excluded.user_id, status = excluded.status, started_at = excluded.started_at,
    completed_at = excluded.completed_at, owner = excluded.owner, usage = excluded.usage,
    cancelling = excluded.cancelling;

-- cancel_turns: Mark turns to be cancelled.
UPDATE turns SET cancelling = true
FROM jsonb_array_elements(%(cancel_turns)s::jsonb) AS listed(r)
WHERE turns.session_id = (r->>0) AND turns.number = (r->>1)::bigint;

-- insert_inputs: Insert new inputs.
INSERT INTO inputs (session_id, id, user_id, received_at, owner, delivered_at)
SELECT
    r->>0, r->>1, r->>2, (r->>3)::float8, r->>4, (r->>5)::float8
FROM jsonb_array_elements(%(insert_inputs)s::jsonb) AS listed(r);

-- deliver_inputs: Store when inputs entered the transcript.
UPDATE inputs SET delivered_at = (r->>2)::float8
FROM jsonb_array_elements(%(deliver_inputs)s::jsonb) AS listed(r)
WHERE inputs.session_id = (r->>0) AND inputs.id = (r->>1);

-- write_idempotency_keys: Insert idempotency keys, each in a slot of its session, or replace the oldest.
INSERT INTO idempotency_keys (session_id, slot, key, fingerprint, seq, answer, at)
SELECT
    r->>0, (r->>1)::bigint, r->>2, r->>3, (r->>4)::bigint, r->>5, (r->>6)::float8
FROM jsonb_array_elements(%(write_idempotency_keys)s::jsonb) AS listed(r)
ON CONFLICT (session_id, slot) DO UPDATE SET
    key = excluded.key, fingerprint = excluded.fingerprint, seq = excluded.seq, answer = excluded.answer,
    at = excluded.at;

-- insert_transcript: Append entries to transcripts.
INSERT INTO transcript (session_id, position, entry)
SELECT
    r->>0, (r->>1)::bigint, (r->>2)::json
FROM jsonb_array_elements(%(insert_transcript)s::jsonb) AS listed(r);

-- insert_memory_entries: Add messages and notes to what a search finds.
INSERT INTO memory_entries (user_id, session_id, position, note_key, at, words)
SELECT
    r->>0, r->>1, (r->>2)::bigint, r->>3, (r->>4)::float8, (r->>5)::tsvector
FROM jsonb_array_elements(%(insert_memory_entries)s::jsonb) AS listed(r);

-- insert_events: Append events to boards.
INSERT INTO events (session_id, seq, kind, at, body)
SELECT
    r->>0, (r->>1)::bigint, r->>2, (r->>3)::float8, (r->>4)::jsonb
FROM jsonb_array_elements(%(insert_events)s::jsonb) AS listed(r);

-- update_counters: Store the last numbers of sessions, and their activity. The sessions exist: nothing is inserted.
INSERT INTO sessions (id, last_seq, last_entry, last_execution, last_key, active_at, first_seq, open)
SELECT
    r->>0, (r->>1)::bigint, (r->>2)::bigint, (r->>3)::bigint, (r->>4)::bigint, (r->>5)::float8, 1, false
FROM jsonb_array_elements(%(update_counters)s::jsonb) AS listed(r)
ON CONFLICT (id) DO UPDATE SET
    last_seq = excluded.last_seq, last_entry = excluded.last_entry, last_execution = excluded.last_execution,
    last_key = excluded.last_key, active_at = excluded.active_at;

-- claim_new: Give `claimer` those executions in queues that have never begun, if the tables have this `revision`.
WITH locked AS (
    SELECT found.*
    FROM (
        SELECT (k->>0) COLLATE "C" AS session_id, (k->>1) COLLATE "C" AS id
        FROM jsonb_array_elements(%(keys)s::jsonb) AS listed(k)
        ORDER BY session_id, id
    ) AS key
    CROSS JOIN LATERAL (
        SELECT session_id, id FROM executions
        WHERE session_id = key.session_id AND id = key.id
            AND queue IS NOT NULL AND completed_at IS NULL AND attempt = 0
            AND (owner IS NULL OR owner = %(claimer)s::text)
            AND (SELECT version_num FROM callboard_version) = %(revision)s::text
        FOR UPDATE OF executions
    ) AS found
)
UPDATE executions SET owner = %(claimer)s::text, ready = false
WHERE (session_id, id) IN (SELECT session_id, id FROM locked)
RETURNING
    session_id, id, user_id, call_id, tool, kind, fingerprint, status, priority, attempt, max_attempts, late, parent_id,
    queued_at, started_at, completed_at, owner, retry_at, queue, trace, document, shown::text AS display_arguments,
    errors::text AS errors, value::text AS value, error::text AS error, cancelling,
    (
        SELECT coalesce(made_at, (SELECT created_at FROM session_tool_state WHERE session_id = sessions.id))
        FROM sessions WHERE id = executions.session_id
    ) AS made_at;

-- write_owners: Register processes.
INSERT INTO owners (id, host, pid, started, beat)
SELECT
    r->>0, r->>1, (r->>2)::bigint, r->>3, (r->>4)::bigint
FROM jsonb_array_elements(%(write_owners)s::jsonb) AS listed(r)
ON CONFLICT (id) DO UPDATE SET
    host = excluded.host, pid = excluded.pid, started = excluded.started, beat = excluded.beat;

-- note_group: Record a group and its results in the row of its store. Return no row if it is recorded already.
INSERT INTO batches (instance, number, results, at)
VALUES (%(instance)s, %(number)s::bigint, %(results)s, %(at)s::float8)
ON CONFLICT (instance) DO UPDATE SET number = excluded.number, results = excluded.results, at = excluded.at
WHERE batches.number < excluded.number
RETURNING 1;

-- notify_group: Return the number of rows of `note_group`, 1 or 0, and notify other processes in any case.
SELECT
    (SELECT count(*) FROM note_group),
    (
        SELECT count(pg_notify('callboard', message))
        FROM jsonb_array_elements_text(%(messages)s::jsonb) AS listed(message)
    );

-- notify: Notify other processes.
SELECT count(pg_notify('callboard', message)) FROM jsonb_array_elements_text(%(messages)s::jsonb) AS listed(message);

-- end_stalled: End connections that hold locks of these tables while the server waits for the rest of a message.
SELECT pg_terminate_backend(pid) FROM pg_stat_activity AS activity
WHERE datname = current_database()
    AND usename = current_user
    AND state = 'active'
    AND wait_event IN ('ClientRead', 'ClientWrite')
    AND state_change < clock_timestamp() - make_interval(secs => %(seconds)s)
    AND query NOT ILIKE 'copy %%' -- which only other programs use, for as long as they like
    AND EXISTS (
        SELECT 1 FROM pg_locks JOIN pg_class ON pg_class.oid = relation
        WHERE pg_locks.pid = activity.pid
            AND mode <> 'AccessShareLock' -- that of a query, such as a backup's, for which no process waits
            AND relname = ANY(%(tables)s::text[])
            AND pg_table_is_visible(pg_class.oid)
    );

-- count_memory: Count the entries of a user with each of several words, up to a number.
SELECT lexeme, (
    SELECT count(*) FROM (
        SELECT 1 FROM memory_entries
        WHERE words @@ lexeme::tsquery AND user_id = %(user_id)s
        LIMIT %(counted)s
    ) AS counted
)
FROM unnest(%(lexemes)s::text[]) AS listed(lexeme);

-- find_memory: Find the best of the newest entries of a user that fit a full-text query.
WITH newest AS MATERIALIZED (
    SELECT id, words FROM memory_entries
    WHERE words @@ %(match)s::tsquery
        AND user_id = %(user_id)s
        AND at >= CASE WHEN session_id IS NULL THEN %(notes_since)s ELSE %(messages_since)s END::float8
        AND (%(without_session)s::text IS NULL OR session_id IS DISTINCT FROM %(without_session)s::text)
    ORDER BY id + 0 DESC -- an expression, so that the entries of other users are not read in the order of their ids
    LIMIT %(candidates)s
)
SELECT id, (
    SELECT sum(weight * ts_rank(words, lexeme::tsquery, 1))
    FROM unnest(%(lexemes)s::text[], %(weights)s::float8[]) AS listed(lexeme, weight)
) AS score
FROM newest
ORDER BY score DESC, id DESC
LIMIT %(limit)s;
