/** The history that the author's code is replayed on, as the fold knows it. */
import { unreachable } from '../invariant.ts';
import type { Payload } from '../json.ts';
import type { RunState } from '../log/fold.ts';
import type { History } from './turn.ts';

export function historyOf(_state: RunState): History<Payload> {
  return unreachable(undefined as never);
}
