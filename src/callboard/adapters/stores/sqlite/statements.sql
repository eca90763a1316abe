-- Statements that write to SQLite. Keys come as one JSON document, a list of lists, in the parameter `keys`; rows come
-- through `executemany`, with the values in the order of their numbers.

-- lock_sessions: Read the counters of sessions, and the revision of the tables. The transaction has locked the file.
SELECT id, last_seq, last_entry, last_execution, last_key, writes,
    coalesce(made_at, (SELECT created_at FROM session_tool_state WHERE session_id = sessions.id)),
    active_at, user_id, (SELECT version_num FROM callboard_version)
FROM sessions
WHERE id IN (SELECT json_extract(value, '$[0]') FROM json_each(:keys))
ORDER BY id;

-- read_states: Read the users of sessions, and their unconsumed results.
SELECT session_id, user_id, unconsumed_results
FROM session_tool_state
WHERE session_id IN (SELECT json_extract(value, '$[0]') FROM json_each(:keys));

-- lock_executions: Read the fields of executions that a change is checked against.
SELECT session_id, id, place, call_id, owner, completed_at, cancelling
FROM executions
WHERE (session_id, id) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:keys));

-- read_calls: Read which call ids are in use.
SELECT session_id, call_id
FROM executions
WHERE (session_id, call_id) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:keys));

-- lock_turns: Read the fields of turns that a change is checked against.
SELECT session_id, number, owner, completed_at, cancelling
FROM turns
WHERE (session_id, number) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:keys));

-- lock_inputs: Read which inputs exist.
SELECT session_id, id
FROM inputs
WHERE (session_id, id) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:keys));

-- read_requests: Read the sessions and statuses of requests.
SELECT id, session_id, status
FROM requests
WHERE id IN (SELECT json_extract(value, '$[0]') FROM json_each(:keys));

-- read_idempotency_keys: Read the idempotency keys that are in use.
SELECT session_id, key, fingerprint, seq, answer, at
FROM idempotency_keys
WHERE (session_id, key) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:keys));

-- create_sessions: Insert rows of new sessions, so that they can be locked. Existing rows stay.
INSERT INTO sessions (id, made_at, open, first_seq, last_seq, last_entry, last_execution, last_key, active_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (id) DO NOTHING;

-- delete_sessions: Delete rows of sessions whose creation did not fit.
DELETE FROM sessions WHERE id IN (SELECT json_extract(value, '$[0]') FROM json_each(:keys));

-- update_sessions: Update the settings of sessions that their owners change.
UPDATE sessions SET channel = ?2, allow = ?3, wake = ?4, open = ?5, writes = ?6, user_id = ?7 WHERE id = ?1;

-- set_auto_titles: Set the automatic titles of sessions that have none.
UPDATE sessions SET auto_title = ?2, auto_title_folded = ?3, writes = writes + 1
WHERE id = ?1 AND auto_title IS NULL;

-- set_titles: Set or remove the titles that people give. Takes the number of changes that did it.
UPDATE sessions SET given_title = ?2, given_title_folded = ?3, writes = writes + ?4 WHERE id = ?1;

-- write_states: Insert or update the state of sessions. The user and the time of creation stay.
INSERT INTO session_tool_state
    (session_id, user_id, namespaces, available_tools, unconsumed_results, created_at, updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (session_id) DO UPDATE SET
    namespaces = excluded.namespaces, available_tools = excluded.available_tools,
    unconsumed_results = excluded.unconsumed_results, updated_at = excluded.updated_at;

-- update_unconsumed: Update the unconsumed results of sessions.
UPDATE session_tool_state SET unconsumed_results = ?2 WHERE session_id = ?1;

-- append_unconsumed: Add a result to the unconsumed ones of a session.
UPDATE session_tool_state SET unconsumed_results = json_insert(unconsumed_results, '$[#]', ?2)
WHERE session_id = ?1 AND NOT EXISTS (SELECT 1 FROM json_each(unconsumed_results) WHERE value = ?2);

-- write_executions: Insert or update executions. Their place and call stay: SQLite would write to the index of a call.
INSERT INTO executions (
    session_id, id, user_id, call_id, tool, kind, fingerprint, status, priority, attempt, max_attempts, late, parent_id,
    queued_at, started_at, completed_at, owner, retry_at, queue, trace, document, shown, errors, value, error,
    place, cancelling
)
VALUES (
    ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
    ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27
)
ON CONFLICT (session_id, id) DO UPDATE SET
    user_id = excluded.user_id, tool = excluded.tool, kind = excluded.kind,
    fingerprint = excluded.fingerprint, status = excluded.status, priority = excluded.priority,
    attempt = excluded.attempt, max_attempts = excluded.max_attempts, late = excluded.late,
    parent_id = excluded.parent_id, queued_at = excluded.queued_at, started_at = excluded.started_at,
    completed_at = excluded.completed_at, owner = excluded.owner, retry_at = excluded.retry_at,
    queue = excluded.queue, trace = excluded.trace, document = excluded.document, shown = excluded.shown,
    errors = excluded.errors, value = excluded.value, error = excluded.error, cancelling = excluded.cancelling;

-- cancel_executions: Mark executions to be cancelled.
UPDATE executions SET cancelling = true WHERE session_id = ?1 AND place = ?2;

-- receive_results: Mark executions whose callers received their results.
UPDATE executions SET late = false WHERE session_id = ?1 AND place = ?2;

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
    AND (session_id, id) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:keys));

-- write_requests: Insert or update requests.
INSERT INTO requests (
    id, session_id, user_id, execution_id, kind, purpose, tool, fingerprint, status,
    created_at, expires_at, answered_at, payload, schema, answer
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
ON CONFLICT (id) DO UPDATE SET
    session_id = excluded.session_id, user_id = excluded.user_id, execution_id = excluded.execution_id,
    kind = excluded.kind, purpose = excluded.purpose, tool = excluded.tool, fingerprint = excluded.fingerprint,
    status = excluded.status, created_at = excluded.created_at, expires_at = excluded.expires_at,
    answered_at = excluded.answered_at, payload = excluded.payload, schema = excluded.schema, answer = excluded.answer;

-- write_turns: Insert or update turns.
INSERT INTO turns (session_id, turn_id, user_id, status, started_at, completed_at, owner, usage, number, cancelling)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (session_id, number) DO UPDATE SET
    turn_id = excluded.turn_id, user_id = excluded.user_id, status = excluded.status, started_at = excluded.started_at,
    completed_at = excluded.completed_at, owner = excluded.owner, usage = excluded.usage,
    cancelling = excluded.cancelling;

-- cancel_turns: Mark turns to be cancelled.
UPDATE turns SET cancelling = true WHERE session_id = ?1 AND number = ?2;

-- insert_inputs: Insert new inputs.
INSERT INTO inputs (session_id, id, user_id, received_at, owner, delivered_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- deliver_inputs: Store when inputs entered the transcript.
UPDATE inputs SET delivered_at = ?3 WHERE session_id = ?1 AND id = ?2;

-- write_idempotency_keys: Insert idempotency keys, each in a slot of its session, or replace the oldest.
INSERT INTO idempotency_keys (session_id, slot, key, fingerprint, seq, answer, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (session_id, slot) DO UPDATE SET
    key = excluded.key, fingerprint = excluded.fingerprint, seq = excluded.seq, answer = excluded.answer,
    at = excluded.at;

-- insert_transcript: Append entries to transcripts.
INSERT INTO transcript (session_id, position, entry) VALUES (?1, ?2, ?3);

-- insert_memory_entries: Add messages and notes to what a search finds.
INSERT INTO memory_entries (user_id, session_id, position, note_key, at, words) VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- insert_events: Append events to boards.
INSERT INTO events (session_id, seq, kind, at, body) VALUES (?1, ?2, ?3, ?4, ?5);

-- update_counters: Store the last numbers of sessions, and their activity.
UPDATE sessions SET last_seq = ?2, last_entry = ?3, last_execution = ?4, last_key = ?5, active_at = ?6
WHERE id = ?1;

-- claim_new: Give `claimer` those executions in queues that have never begun, if the tables have this `revision`.
UPDATE executions SET owner = :claimer, ready = false
WHERE (session_id, id) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:keys))
    AND queue IS NOT NULL AND completed_at IS NULL AND attempt = 0
    AND (owner IS NULL OR owner = :claimer)
    AND (SELECT version_num FROM callboard_version) = :revision
RETURNING
    session_id, id, user_id, call_id, tool, kind, fingerprint, status, priority, attempt, max_attempts, late, parent_id,
    queued_at, started_at, completed_at, owner, retry_at, queue, trace, document, shown AS display_arguments, errors,
    value, error, cancelling,
    (
        SELECT coalesce(made_at, (SELECT created_at FROM session_tool_state WHERE session_id = sessions.id))
        FROM sessions WHERE id = executions.session_id
    ) AS made_at;

-- write_owners: Register processes.
INSERT INTO owners (id, host, pid, started, beat) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (id) DO UPDATE SET
    host = excluded.host, pid = excluded.pid, started = excluded.started, beat = excluded.beat;

-- notify: Record the sessions of a group for other processes that use the file.
INSERT INTO notifications (instance, session_ids) VALUES (?1, ?2);

-- forget_notifications: Delete notifications that are too old to be read.
DELETE FROM notifications WHERE number <= ?1;

-- last_notification: Read the number of the newest notification.
SELECT coalesce(max(number), 0) FROM notifications;

-- read_notifications: Read the notifications after a number, without the sessions of those by these two senders.
SELECT number, instance, CASE WHEN instance NOT IN (?1, ?2) THEN session_ids END
FROM notifications WHERE number > ?3 ORDER BY number;

-- find_memory: Find the best of the newest entries of a user that fit a full-text query.
SELECT id, score FROM (
    SELECT memory_entries.id AS id, bm25(memory_words) AS score
    FROM memory_words CROSS JOIN memory_entries ON memory_entries.id = memory_words.rowid
    WHERE memory_words MATCH ?1
        AND memory_entries.user_id = ?3
        AND memory_entries.at >= CASE WHEN memory_entries.session_id IS NULL THEN ?4 ELSE ?5 END
        AND (?6 IS NULL OR memory_entries.session_id IS NOT ?6)
    ORDER BY memory_words.rowid DESC
    LIMIT ?2
)
ORDER BY score, id DESC
LIMIT ?7;
