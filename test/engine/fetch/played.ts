/** A fetch run played by hand: facts are decided and committed as the service does. */
import { type FetchFact, type NewMessage, decideFetch, decideFetchStart } from '../../../lib/engine/fetch/decide.ts';
import { messageId, workflowQueue } from '../../../lib/engine/fetch/message.ts';
import type { Verdict } from '../../../lib/engine/fetch/verdict.ts';
import { type NodeId, commitNo, nodeKey, nonce, runId, topLevel } from '../../../lib/engine/ids.ts';
import type { Commit } from '../../../lib/engine/log/commit.ts';
import type { RunEvent } from '../../../lib/engine/log/events.ts';
import { attemptOf } from '../../../lib/engine/log/fold.ts';
import { after, days } from '../../../lib/engine/time.ts';
import { dawn, foldOf } from '../play.ts';

export const deadlineAt = after(dawn, days(7));
export const drawn = (count: number) => runId(`wrun_01ARZ3NDEKTSV4RRFF${String(count).padStart(8, '0')}`);
export const message = (count: number): NewMessage => ({
  id: messageId(count % 2 === 0 ? 'workflow' : 'step', drawn(count)),
  message: { queueName: workflowQueue('greet'), body: { count } },
});

export class PlayedFetch {
  readonly commits: Commit[] = [];
  now = dawn;
  chance = 0.5;

  constructor() {
    this.#commit(decideFetchStart({ value: {} }, {}, message(0), this.tools));
  }

  get tools() {
    return { now: this.now, deadlineAt, chance: () => this.chance };
  }

  get state() {
    return foldOf(this.commits);
  }

  later(wait: Parameters<typeof after>[1]): void {
    this.now = after(this.now, wait);
  }

  say(...facts: readonly FetchFact[]): readonly RunEvent[] {
    const events = decideFetch(this.state, facts, this.tools);
    if (events.length > 0) this.#commit(events);
    return events;
  }

  answered(id: NodeId, verdict: Verdict, again: NewMessage = message(900)): FetchFact {
    const node = { nodeId: id, iteration: topLevel };
    const attempt = attemptOf(this.state.nodes.get(nodeKey(node)));
    return { kind: 'message-answered', node, attempt, verdict, again, startedAt: this.now, endedAt: this.now };
  }

  #commit(events: readonly RunEvent[]): void {
    const before = this.commits.length === 0 ? undefined : this.state;
    const number = commitNo((before?.asOf ?? 0) + 1);
    const firstEventId = before?.nextEventId ?? foldOf([]).nextEventId;
    this.commits.push({ number, firstEventId, events, at: this.now, by: 'test', nonce: nonce(`n${number}`) });
  }
}
