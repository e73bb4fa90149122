/** A code run driven by a test: facts are decided and committed as the service does, and the test supplies command batches. */
import { decideCode, decideCodeStart } from '../../../lib/engine/durable/decide.ts';
import type { CodeFact } from '../../../lib/engine/durable/facts.ts';
import { historyOf } from '../../../lib/engine/durable/history.ts';
import { stepNodeId } from '../../../lib/engine/durable/step.ts';
import type { Command, CommandBatch, CommandBatchEntry } from '../../../lib/engine/durable/command-batch.ts';
import { attempt, commitNo, nodeKey, nonce, runId, topLevel } from '../../../lib/engine/ids.ts';
import { invariant } from '../../../lib/engine/invariant.ts';
import type { JsonValue } from '../../../lib/engine/json.ts';
import type { Commit } from '../../../lib/engine/log/commit.ts';
import type { RunEvent } from '../../../lib/engine/log/events.ts';
import { type NodeState, type OpenNode, isOpen } from '../../../lib/engine/log/node-state.ts';
import { type Instant, after, days, seconds } from '../../../lib/engine/time.ts';
import { dawn, foldOf } from '../graph-run-fixture.ts';

export const childRuns = (number: number) => runId(`wrun_01ARZ3NDEKTSV4RRFFQ69G5FA${number}`);
export const deadlineAt: Instant = after(dawn, days(7));

export class CodeRunFixture {
  readonly commits: Commit[] = [];
  now: Instant = dawn;

  constructor(notBefore?: Instant) {
    this.#commit(decideCodeStart({ value: { order: 7 } }, {}, this.tools, notBefore));
  }

  get tools() {
    return { now: this.now, deadlineAt, childRunId: (_node: unknown, number: number) => childRuns(number) };
  }

  get state() {
    return foldOf(this.commits);
  }

  get history() {
    return historyOf(this.state);
  }

  /** Event types of the last commit, each with its node if it has one. */
  get last(): readonly string[] {
    return (this.commits.at(-1)?.events ?? []).map((event) => ('nodeId' in event ? `${event.type} ${event.nodeId}` : event.type));
  }

  later(wait: Parameters<typeof after>[1]): void {
    this.now = after(this.now, wait);
  }

  decide(...facts: readonly CodeFact[]): readonly RunEvent[] {
    const events = decideCode(this.state, facts, this.tools);
    if (events.length > 0) this.#commit(events);
    return events;
  }

  /** Commits events without a decision. */
  appendEvents(events: readonly RunEvent[]): void {
    this.#commit(events);
  }

  node(key: string): NodeState | undefined {
    return this.state.nodes.get(nodeKey({ nodeId: stepNodeId(key), iteration: topLevel }));
  }

  /** Open workflow tasks, the latest one last. */
  get openWorkflowTasks(): readonly OpenNode[] {
    const { state } = this;
    return [...state.open.keys()].flatMap((key) => {
      const node = state.nodes.get(key);
      return node !== undefined && isOpen(node) && node.step?.kind === 'workflow_task' ? [node] : [];
    });
  }

  get currentWorkflowTask() {
    const workflowTask = this.openWorkflowTasks[0];
    invariant(workflowTask !== undefined, 'the run has no open workflow task');
    const { nodeId, iteration, attempt: number } = workflowTask;
    return { node: { nodeId, iteration }, attempt: number, startedAt: this.now, endedAt: this.now };
  }

  turn(entries: readonly CommandBatchEntry[], next: CommandBatch['next'] = 'running', wakeAt?: Instant): readonly RunEvent[] {
    const batch: CommandBatch = { entries, next, ...(wakeAt === undefined ? {} : { wakeAt }) };
    return this.decide({ kind: 'command-batch', ...this.currentWorkflowTask, batch });
  }

  asks(key: string, more: Partial<Extract<Command, { kind: 'function' }>> = {}): CommandBatchEntry {
    return { kind: 'scheduled', command: { kind: 'function', key, ...more } };
  }

  sleeps(key: string, wait = seconds(60)): CommandBatchEntry {
    return { kind: 'scheduled', command: { kind: 'sleep', key, wakeAt: after(this.now, wait) } };
  }

  did(key: string, output: JsonValue = null, tried = 1): CommandBatchEntry {
    return { kind: 'completed', key, attempt: attempt(tried), output, startedAt: this.now, endedAt: this.now };
  }

  failed(key: string, message = 'it broke', tried = 1): CommandBatchEntry {
    const failure = { cause: 'error', message } as const;
    return { kind: 'failed', key, attempt: attempt(tried), failure, startedAt: this.now, endedAt: this.now };
  }

  #commit(events: readonly RunEvent[]): void {
    const before = this.commits.length === 0 ? undefined : this.state;
    const number = commitNo((before?.asOf ?? 0) + 1);
    const firstEventId = before?.nextEventId ?? foldOf([]).nextEventId;
    this.commits.push({ number, firstEventId, events, at: this.now, by: 'test', nonce: nonce(`n${number}`) });
  }
}
