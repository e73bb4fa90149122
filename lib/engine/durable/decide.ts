/** Code runs: facts in, events out. The code says what it does; what is decided here is what that means for its run. */
import { unreachable } from '../invariant.ts';
import type { JsonValue, Payload } from '../json.ts';
import type { RunEvent } from '../log/events.ts';
import type { RunState } from '../log/fold.ts';
import type { Instant } from '../time.ts';
import type { CodeFact, CodeTools } from './facts.ts';

/** The first commit: the input, and the first drive on its way. */
export function decideCodeStart(
  _input: Payload,
  _system: Readonly<Record<string, JsonValue>>,
  _tools: CodeTools,
  _notBefore?: Instant,
): readonly RunEvent[] {
  return unreachable(undefined as never);
}

/** What follows from these facts, in their order. No event: nothing is to be committed. */
export function decideCode(_state: RunState, _facts: readonly CodeFact[], _tools: CodeTools): readonly RunEvent[] {
  return unreachable(undefined as never);
}
