/** A code run with a log in memory: the engine decides, and the test starts and drops workflow tasks. */
import { decideCode, decideCodeStart } from '../../lib/engine/durable/decide.ts';
import type { CodeFact } from '../../lib/engine/durable/facts.ts';
import { historyOf } from '../../lib/engine/durable/history.ts';
import {
  type History,
  type RunFacts,
  type CommandBatch,
  type CommandBatchResult,
  replayVersion,
} from '../../lib/engine/durable/command-batch.ts';
import { stepNodeId } from '../../lib/engine/durable/step.ts';
import type { ChildEnd } from '../../lib/engine/graph/facts.ts';
import { commitNo, nodeKey, nonce, runId, signalId, topLevel } from '../../lib/engine/ids.ts';
import { invariant } from '../../lib/engine/invariant.ts';
import type { JsonValue, Payload } from '../../lib/engine/json.ts';
import { type Commit, eventIdAfter } from '../../lib/engine/log/commit.ts';
import type { RunEvent } from '../../lib/engine/log/events.ts';
import { type RunState, applyCommit, emptyState, isTerminal } from '../../lib/engine/log/fold.ts';
import { type NodeState, type OpenNode, waitEndsAt, isOpen } from '../../lib/engine/log/node-state.ts';
import { type Instant, after, days, earliest, hours, instant } from '../../lib/engine/time.ts';
import type { WorkflowTaskHandle, WorkflowTaskEnd, WorkflowTaskHost, WorkflowTask } from '../../lib/ports/programs.ts';
import { startWorkflowTask } from '../../lib/program/start-workflow-task.ts';
import { theRun } from '../engine/graph-run-fixture.ts';
import { VirtualClock } from './virtual-clock.ts';

const childRun = runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV');

export interface Options {
  readonly input?: JsonValue;
  readonly name?: string;
  readonly version?: string;
  /** time until the hand-off of a workflow task */
  readonly driveMs?: number;
  /** results of called workflows, by name */
  readonly children?: Readonly<Record<string, (input: JsonValue) => ChildEnd>>;
  readonly deploymentId?: string;
  /** an earlier try of each workflow task may have crashed */
  readonly mayHaveCrashed?: true;
  /** events after those of the start */
  readonly copied?: readonly RunEvent[];
}

/** The fate of a batch: it is committed, or the worker crashes before or after the commit. */
export type Fate = 'commit' | 'die-before' | 'die-after';

export class DrivenRun {
  readonly clock: VirtualClock;
  readonly commits: Commit[] = [];
  readonly ends: WorkflowTaskEnd[] = [];
  readonly turns: CommandBatch[] = [];
  readonly lines: string[] = [];
  readonly sent: string[] = [];
  readonly state: RunState = emptyState();
  /** called before each batch; it may commit something else first */
  beforeTurn: (turn: CommandBatch) => Fate | Promise<Fate> = () => 'commit';
  /** called before each workflow task starts */
  onDrive: (task: WorkflowTask) => void = () => {};
  /** true: the task gets a new history immediately; false: with the result of its next batch */
  tellsAtOnce = false;
  workflows: unknown;
  readonly facts: RunFacts;
  readonly #options: Options;
  #drive: { readonly drive: WorkflowTaskHandle; told: number; knows: number; isDropped: boolean } | undefined;
  #lastSignal = 0;

  constructor(workflows: unknown, options: Options = {}, clock = new VirtualClock()) {
    this.clock = clock;
    this.workflows = workflows;
    this.#options = options;
    const createdAt = clock.now();
    const { name = 'test', version = null, input = null } = options;
    this.facts = { runId: theRun, workflowName: name, version, createdAt, deadlineAt: after(createdAt, days(365)) };
    this.#commit(decideCodeStart({ value: input }, {}, this.#tools));
    if (options.copied !== undefined) this.#commit(options.copied);
  }

  get #tools() {
    return { now: this.clock.now(), deadlineAt: this.facts.deadlineAt, childRunId: () => childRun };
  }

  get hasEnded(): boolean {
    return isTerminal(this.state.progress);
  }

  get output(): JsonValue {
    const { progress } = this.state;
    invariant(progress.status === 'completed', `the run is ${JSON.stringify(progress)}`);
    return valueOf(progress.output);
  }

  get failure() {
    const { progress } = this.state;
    invariant(progress.status === 'failed', `the run is ${JSON.stringify(progress)}`);
    return progress.error;
  }

  get history(): History<JsonValue> {
    return jsonHistory(historyOf(this.state));
  }

  /** entries of all committed batches, in short form */
  get said(): readonly string[] {
    return this.turns.flatMap(({ entries }) => entries.map(saidOf));
  }

  node(key: string): NodeState | undefined {
    return this.state.nodes.get(nodeKey({ nodeId: stepNodeId(key), iteration: topLevel }));
  }

  get openNodes(): readonly OpenNode[] {
    return [...this.state.open.keys()].flatMap((key) => {
      const node = this.state.nodes.get(key);
      return node !== undefined && isOpen(node) ? [node] : [];
    });
  }

  /** Another writer commits, such as a timer or a signal. */
  say(...facts: readonly CodeFact[]): boolean {
    const events = decideCode(this.state, facts, this.#tools);
    if (events.length === 0) return false;
    this.#commit(events);
    const held = this.#drive;
    if (held === undefined || held.isDropped) return true;
    if (this.hasEnded) held.drive.cancel('the run has ended');
    else if (this.tellsAtOnce || this.state.code?.runOutcome !== undefined) {
      held.told += 1;
      held.knows = this.state.asOf;
      held.drive.replaceHistory(this.history);
    }
    return true;
  }

  signal(name: string, payload: JsonValue): boolean {
    const node = this.openNodes.find((open) => open.status === 'waiting' && open.for === 'signal' && open.name === name);
    if (node === undefined) return false;
    this.#lastSignal += 1;
    const signal = { signalId: signalId(`s${this.#lastSignal}`), payload, receivedAt: this.clock.now() };
    return this.say({ kind: 'signal-received', node: refOf(node), attempt: node.attempt, signal });
  }

  /** A sweep records a recovery, which the code does not see. */
  recover(): void {
    this.#commit([{ type: 'RUN_RECOVERED', nodes: [] }]);
  }

  cancel(reason = 'enough'): void {
    this.say({ kind: 'cancel-requested', reason });
  }

  /** Ends waits that are due, and called workflows. */
  async wakeDue(): Promise<boolean> {
    let isChanged = false;
    for (const node of this.openNodes) {
      if (node.status !== 'waiting') continue;
      const endsAt = waitEndsAt(node);
      if (endsAt !== undefined && endsAt <= this.clock.now())
        isChanged = this.say({ kind: 'node-woken', node: refOf(node), attempt: node.attempt }) || isChanged;
      else isChanged = this.#endChild(node) || isChanged;
    }
    return isChanged;
  }

  #endChild(node: OpenNode): boolean {
    if (node.status !== 'waiting' || node.for !== 'child') return false;
    const child = this.#options.children?.[node.workflowName];
    const { nodeId, iteration, attempt } = node;
    const called = this.commits
      .flatMap(({ events }) => events)
      .find((event) => event.type === 'SUBFLOW_CALLED' && event.nodeId === nodeId);
    if (child === undefined || called?.type !== 'SUBFLOW_CALLED') return false;
    const end = child(valueOf(called.input));
    return this.say({ kind: 'child-ended', node: { nodeId, iteration }, attempt, childRunId: childRun, end });
  }

  /** Executes the run and advances the time until the run has ended or waits for an external event. */
  async toTheEnd(mostDrives = 1_000): Promise<this> {
    for (let drives = 0; !this.hasEnded; drives += 1) {
      invariant(drives < mostDrives, `the run is driven without end: ${this.said.slice(-20).join(', ')}`);
      if (await this.driveOnce()) continue;
      if (await this.wakeDue()) continue;
      const next = this.#nextMoment();
      if (next === undefined) return this;
      this.clock.skipTo(next);
      await this.wakeDue();
    }
    return this;
  }

  #nextMoment(): Instant | undefined {
    const moments = this.openNodes.flatMap((node) => {
      if (node.status === 'waiting') return waitEndsAt(node) ?? [];
      return node.status === 'queued' && node.notBefore !== undefined ? [node.notBefore] : [];
    });
    return earliest(moments);
  }

  /** Asks the running workflow task for an early hand-off. */
  handOn(): void {
    this.#drive?.drive.handOff();
  }

  /** @returns whether a workflow task could start now */
  async driveOnce(): Promise<boolean> {
    const node = this.openNodes.find(
      (open) => open.step?.kind === 'workflow_task' && (open.status !== 'queued' || (open.notBefore ?? 0) <= this.clock.now()),
    );
    if (node === undefined) return false;
    const { driveMs = hours(1) } = this.#options;
    const task: WorkflowTask = {
      run: this.facts,
      replayVersion,
      input: this.#options.input ?? null,
      history: this.history,
      handOffAt: instant(this.clock.now() + driveMs),
      ...(this.#options.mayHaveCrashed === undefined ? {} : { shouldCommitBeforeSteps: this.#options.mayHaveCrashed }),
    };
    this.onDrive(task);
    const { promise: died, resolve: die } = Promise.withResolvers<'died'>();
    const host = this.#hostOf(node, () => die('died'));
    const { deploymentId = 'dep-1' } = this.#options;
    const print = (_level: string, line: string) => void this.lines.push(line);
    const drive = startWorkflowTask(this.workflows, task, host, { deploymentId, clock: this.clock, print });
    this.#drive = { drive, told: 0, knows: this.state.asOf, isDropped: false };
    const end = await this.clock.until(Promise.race([drive.ended, died]));
    if (this.#drive?.drive === drive) this.#drive.isDropped = true;
    if (end === 'died') return true;
    this.ends.push(end);
    this.#after(end, node);
    return true;
  }

  #after(end: WorkflowTaskEnd, node: OpenNode): void {
    const of = { ...refOf2(node), startedAt: this.clock.now(), endedAt: this.clock.now() };
    if (end.kind === 'finished') return;
    const failure = { cause: 'error', code: end.kind, message: end.message } as const;
    if (end.kind === 'crashed' || end.kind === 'timed_out')
      this.say({ ...of, kind: 'workflow-task-crashed', failure, running: end.running });
    else this.say({ ...of, kind: 'workflow-task-deferred', failure });
  }

  #hostOf(node: OpenNode, die: () => void): WorkflowTaskHost {
    const never = new Promise<never>(() => {});
    const isMine = (): boolean => this.#drive !== undefined && !this.#drive.isDropped;
    return {
      commitBatch: async (turn) => {
        if (!isMine()) return never;
        const fate = await this.beforeTurn(turn);
        if (!isMine()) return never;
        if (fate === 'die-before') {
          die();
          return never;
        }
        const answer = this.#turn(node, turn);
        if (fate === 'commit') return answer;
        die();
        return never;
      },
      perform: async ({ key, signal, correlation, data }) => {
        if (!isMine()) return never;
        this.sent.push(`${signal} ${correlation} ${JSON.stringify(data)}`);
        return { status: 'completed', output: { signalId: key }, endedAt: this.clock.now() };
      },
    };
  }

  #turn(node: OpenNode, batch: CommandBatch): CommandBatchResult {
    const held = this.#drive;
    if (this.hasEnded || held === undefined) return { kind: 'stop' };
    if (batch.historiesReceived !== held.told || held.knows !== this.state.asOf) {
      held.knows = this.state.asOf;
      return { kind: 'overtaken', history: this.history };
    }
    const of = { ...refOf2(node), startedAt: this.clock.now(), endedAt: this.clock.now() };
    const events = decideCode(this.state, [{ ...of, kind: 'command-batch', batch }], this.#tools);
    if (events.length === 0 && batch.next !== 'running') return { kind: 'stop' };
    this.#commit(events);
    this.turns.push(batch);
    held.knows = this.state.asOf;
    const isUndoing = this.state.code?.runOutcome !== undefined;
    return {
      kind: 'committed',
      commit: commitNo(this.state.asOf),
      run: this.hasEnded ? 'ended' : isUndoing ? 'rolling_back' : 'open',
    };
  }

  get isDriving(): boolean {
    return this.#drive !== undefined && !this.#drive.isDropped;
  }

  /** the running workflow task */
  get drive(): WorkflowTaskHandle {
    invariant(this.#drive !== undefined, 'no test drives the run');
    return this.#drive.drive;
  }

  #commit(events: readonly RunEvent[]): void {
    const last = this.commits.at(-1);
    const number = commitNo(this.state.asOf + 1);
    const firstEventId = last === undefined ? this.state.nextEventId : eventIdAfter(last);
    const commit: Commit = { number, firstEventId, events, at: this.clock.now(), by: 'test', nonce: nonce(`n${number}`) };
    applyCommit(this.state, commit);
    this.commits.push(commit);
  }
}

const refOf = ({ nodeId, iteration }: OpenNode) => ({ nodeId, iteration });
const refOf2 = (node: OpenNode) => ({ node: refOf(node), attempt: node.attempt });

const valueOf = (payload: Payload): JsonValue => {
  invariant('value' in payload, 'this value is stored elsewhere');
  return payload.value;
};

const jsonHistory = ({ entries, priorResults, ...rest }: History<Payload>): History<JsonValue> => ({
  ...rest,
  entries: entries.map((entry) =>
    entry.kind === 'settled' && entry.result.status === 'completed'
      ? { ...entry, result: { ...entry.result, output: valueOf(entry.result.output) } }
      : entry.kind === 'settled' && entry.result.status === 'failed'
        ? { ...entry, result: entry.result }
        : entry.kind === 'scheduled'
          ? entry
          : fail(),
  ),
  priorResults: priorResults.map((each) => ({ ...each, output: valueOf(each.output) })),
});

const fail = (): never => {
  throw new Error('an entry is asked for, or settled');
};

export function saidOf(entry: CommandBatch['entries'][number]): string {
  switch (entry.kind) {
    case 'scheduled':
      return `asked ${entry.command.key}`;
    case 'completed':
    case 'retried':
    case 'failed':
      return `${entry.kind} ${entry.key}#${entry.attempt}`;
    default:
      return entry.kind;
  }
}
