/** What a commit of somebody else's means for a drive under way. */
import { nodeKey } from '../engine/ids.ts';
import type { Commit } from '../engine/log/commit.ts';
import type { RunEvent } from '../engine/log/events.ts';
import type { RunState } from '../engine/log/fold.ts';
import { type OpenNode, isOpen } from '../engine/log/node-state.ts';

export type Foreign =
  /** another drive wrote it, or this one's end: the run is not in this drive's hands any more */
  | 'takes_over'
  /** a wait has ended, or what was done is to be undone: the code is to hear of it before it says anything more */
  | 'news'
  /** nothing that the code could see */
  | 'nothing';

/** @param state as it was before the commit */
export function judgeForeign(state: RunState, { events }: Pick<Commit, 'events'>, own: OpenNode): Foreign {
  const judged = events.map((event) => judge(state, event, own));
  return judged.find((each) => each === 'takes_over') ?? judged.find((each) => each === 'news') ?? 'nothing';
}

function judge(state: RunState, event: RunEvent, own: OpenNode): Foreign {
  switch (event.type) {
    case 'NODE_DISPATCHED':
      return event.step?.kind === 'drive' ? 'nothing' : 'takes_over';
    // Only code begins waits, and only a drive says how it ended.
    case 'SLEEP_STARTED':
    case 'SIGNAL_AWAITED':
    case 'SUBFLOW_CALLED':
    case 'RUN_RETRIED':
      return 'takes_over';
    case 'ROLLBACK_STARTED':
      return 'news';
    case 'NODE_COMPLETED':
    case 'NODE_FAILED':
    case 'NODE_RETRIED': {
      const key = nodeKey(event);
      if (key === nodeKey(own)) return 'takes_over';
      const node = state.nodes.get(key);
      if (node === undefined || !isOpen(node) || node.step?.kind === 'drive') return 'nothing';
      return node.status === 'waiting' ? 'news' : 'takes_over';
    }
    default:
      return 'nothing';
  }
}
