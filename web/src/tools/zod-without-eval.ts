/** Turns Zod's compiled validators off: they need `eval`, which a strict Content-Security-Policy forbids and reports. */
import { config } from "zod/v4/core";

config({ jitless: true });
