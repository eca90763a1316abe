/** The kinds of events with which a turn ends or pauses, as the server's `events/kinds.py` has them. */

/** The kinds of terminal events of a turn. */
export const TURN_ENDS: ReadonlySet<string> = new Set(["turn_finished", "turn_failed", "turn_interrupted"]);

/** The kinds of events with which a turn ends or pauses. */
export const TURN_STOPS: ReadonlySet<string> = new Set(["turn_paused", ...TURN_ENDS]);
