/**
 * Checks the tables against the invariants (docs/ARCHITECTURE.md, "What must always
 * hold"), the responses to the clients and the external effects. The checker and the watches are the simulator's.
 */
import { commitNo, nodeKey } from '../../../lib/engine/ids.ts';
import { isJsonObject } from '../../../lib/engine/json.ts';
import type { Commit } from '../../../lib/engine/log/commit.ts';
import { callerOf } from '../../../lib/engine/log/lineage.ts';
import { publicEvents } from '../../../lib/engine/log/public-event.ts';
import { Checker } from '../../simulation/checker.ts';
import { OutcomeChecker } from '../../simulation/outcome-checker.ts';
import { SignalChecker } from '../../simulation/signal-checker.ts';
import { runInvariant } from '../../simulation/violation.ts';
import type { ClientFacts } from './clients.ts';
import type { CloudTime } from './cloud-time.ts';
import { codeOf } from './code-load.ts';
import { graphs } from './graphs.ts';
import { checkEffects } from './check-effects.ts';
import type { Effect } from './effect-server.ts';
import type { Reading, StoredRun } from './tables.ts';

export interface RoundResult {
  readonly runs: number;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly commits: number;
  readonly effects: number;
  /** effects after the first of their attempt */
  readonly repeated: number;
  /** runs with the predicted outcome, of graphs and code */
  readonly foretold: number;
  /** nodes that failed because their message became a dead letter */
  readonly lost: number;
  readonly eventsRead: number;
}

export interface Evidence {
  readonly facts: ClientFacts;
  readonly effects: Effect[];
  readonly time: CloudTime;
}

/** Commits of the first read: later reads must contain them unchanged. */
export type Known = Map<string, string>;

/** Checks that no commit has been changed or deleted since the first read. It may run while the cloud works. */
export function compare(reading: Reading, known: Known): void {
  const now = new Map<string, string>();
  for (const { address, commits } of reading.runs.values())
    for (const commit of commits) now.set(`${address.runId}#${commit.number}`, JSON.stringify(commit));
  for (const [name, text] of known)
    runInvariant(1, now.get(name) === text, `${name} was read earlier, and is now ${now.has(name) ? 'changed' : 'missing'}`);
  for (const [name, text] of now) known.set(name, text);
}

/** @throws the first violation */
export async function checkRound(reading: Reading, { facts, effects, time }: Evidence): Promise<RoundResult> {
  const checker = new Checker();
  const outcomes = new OutcomeChecker();
  const signals = new SignalChecker(false);
  runInvariant(1, reading.headless.length === 0, `commits without a head: ${reading.headless.join(', ')}`);
  checkNonces(reading);
  for (const [run, commit] of inOrder(reading)) {
    checker.committed(run.address, commit, commit.at);
    outcomes.committed(run.address, commit);
    signals.committed(run.address, commit, commit.at);
  }
  for (const runId of facts.starts.keys()) {
    const run = reading.runs.get(runId);
    runInvariant(9, run !== undefined, `${runId} was acknowledged and does not exist`);
    checker.acknowledge(run.address);
  }
  await checker.check({
    head: async ({ runId }) => {
      const run = reading.runs.get(runId);
      const first = run?.commits[0];
      return run === undefined || first === undefined ? undefined : { projection: run, commit: first };
    },
    commitsAfter: async ({ runId }, after) => (reading.runs.get(runId)?.commits ?? []).filter(({ number }) => number > after),
  });
  for (const run of reading.runs.values()) judgeAttempts(run);
  checkIndexes(reading);
  checkStarts(reading, facts);
  checkReaders(reading, facts);
  for (const { signal, isDelivered, at } of facts.signals) signals.acknowledged(signal, isDelivered, at);
  signals.check(time.now());
  const undone = undoneIn(effects);
  await outcomes.check(
    async ({ runId }) => codeOf(reading.runs.get(runId)),
    { mayBeCancelled: (runId) => facts.cancelAsked.has(runId) || !facts.starts.has(runId), isHurried: () => false },
    { undoneIn: (runId) => undone.get(runId) ?? [] },
  );
  const graphsForetold = judgeGraphs(reading, facts, time);
  const repeated = checkEffects(reading, effects, time);
  return {
    runs: reading.runs.size,
    byStatus: countBy([...reading.runs.values()].map(({ status }) => status)),
    commits: checker.commits,
    effects: effects.length,
    repeated,
    foretold: outcomes.foretold + graphsForetold,
    lost: [...reading.runs.values()].reduce((sum, run) => sum + lostIn(run), 0),
    eventsRead: [...facts.seen.values()].reduce((sum, seen) => sum + seen.size, 0),
  };
}

const countBy = (names: readonly string[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
};

/** The commits in order: of one run by number, of several by their time, which is from one clock here. */
function inOrder({ runs }: Reading): readonly (readonly [StoredRun, Commit])[] {
  const all = [...runs.values()].flatMap((run) => {
    let latest = 0;
    return run.commits.map((commit) => [run, commit, (latest = Math.max(latest, commit.at))] as const);
  });
  return all.toSorted(([, , one], [, , other]) => one - other).map(([run, commit]) => [run, commit] as const);
}

/** A nonce identifies a put: the same nonce in two commits is a decision that was applied twice. */
function checkNonces({ runs }: Reading): void {
  const nonces = new Map<string, string>();
  for (const { address, commits } of runs.values()) {
    for (const [index, { number, nonce }] of commits.entries()) {
      const name = `${address.runId}#${number}`;
      runInvariant(1, number === commitNo(index + 1), `commit ${index} of ${address.runId} is followed by ${number}`);
      runInvariant(1, !nonces.has(nonce), `${name} and ${nonces.get(nonce)} have the same nonce`);
      nonces.set(nonce, name);
    }
  }
}

/** Independent of the fold, which also refuses it: an attempt ends once, and a node completes once. */
function judgeAttempts({ address: { runId }, commits }: StoredRun): void {
  const ended = new Set<string>();
  const completed = new Set<string>();
  for (const event of commits.flatMap(({ events }) => events)) {
    // A rerun restarts failed nodes from the first attempt, and keeps completed ones.
    if (event.type === 'RUN_RETRIED') ended.clear();
    if (!('nodeId' in event) || !('attempt' in event)) continue;
    const node = nodeKey(event);
    const name = `${node}#${event.attempt}`;
    if (event.type === 'NODE_DISPATCHED')
      runInvariant(3, !completed.has(node), `${node} of ${runId} was dispatched after its completion`);
    if (event.type === 'NODE_COMPLETED' || event.type === 'NODE_FAILED' || event.type === 'NODE_RETRIED') {
      runInvariant(3, !ended.has(name), `${name} of ${runId} ended twice`);
      ended.add(name);
    }
    if (event.type !== 'NODE_COMPLETED') continue;
    runInvariant(3, !completed.has(node), `${node} of ${runId} was completed twice`);
    completed.add(node);
  }
}

function checkIndexes({ runs, byProject, byState }: Reading): void {
  const expected = [...runs.keys()].toSorted();
  runInvariant(5, isSame(byProject.toSorted(), expected), 'the project index and the heads differ');
  const listed = [...runs].flatMap(([runId, { status }]) =>
    status === 'failed' || status === 'cancelled' ? [`${status}/${runId}`] : [],
  );
  runInvariant(5, isSame(byState.toSorted(), listed.toSorted()), 'the index by state and the heads differ');
}

/** Each start created one run, and there are no others. */
function checkStarts({ runs }: Reading, { starts, cancelAsked, cancelled }: ClientFacts): void {
  const ofStart = new Map<number, string>();
  for (const [runId, run] of runs) {
    const [commit] = run.commits;
    if (commit === undefined || callerOf({ commit }) !== undefined) continue;
    const start = starts.get(runId);
    const n = inputNumber(commit);
    runInvariant(
      9,
      n !== undefined && !ofStart.has(n),
      `start ${n} created ${runId} and ${n === undefined ? '' : ofStart.get(n)}`,
    );
    ofStart.set(n, runId);
    runInvariant(9, start?.n === n, `${runId} belongs to start ${n}, whose response names another run`);
    runInvariant(9, start.workflowName === run.workflowName, `${runId} has the workflow ${run.workflowName}`);
    runInvariant(7, run.status !== 'cancelled' || cancelAsked.has(runId), `${runId} is cancelled without a cancel request`);
    runInvariant(
      7,
      run.status === 'cancelled' || !cancelled.has(runId),
      `the cancellation of ${runId} succeeded, and the run is ${run.status}`,
    );
  }
}

function inputNumber({ events }: Commit): number | undefined {
  const [input] = events.flatMap((event) => (event.type === 'INPUT_SET' && 'value' in event.input ? [event.input.value] : []));
  const n = input !== undefined && isJsonObject(input) ? input['n'] : undefined;
  return typeof n === 'number' ? n : undefined;
}

/** The events that readers got, at any cursor and time, are those of the log. */
function checkReaders({ runs }: Reading, { seen }: ClientFacts): void {
  for (const [runId, events] of seen) {
    const run = runs.get(runId);
    runInvariant(8, run !== undefined, `a reader got events of ${runId}, which does not exist`);
    const said = new Map(
      run.commits
        .flatMap((commit) => publicEvents(run.told, commit))
        .map((event) => [Number(event.eventId), JSON.stringify(event)]),
    );
    for (const [id, text] of events)
      runInvariant(8, said.get(id) === text, `a reader of ${runId} got ${text}, and event ${id} is ${said.get(id)}`);
  }
}

const undoneIn = (effects: readonly Effect[]): ReadonlyMap<string, readonly string[]> => {
  const undone = new Map<string, string[]>();
  for (const { kind, runId, of } of effects) {
    if (kind !== 'undo') continue;
    const keys = undone.get(runId) ?? [];
    undone.set(runId, keys);
    if (!keys.includes(of)) keys.push(of);
  }
  return undone;
};

const lostIn = ({ commits }: StoredRun): number =>
  commits
    .flatMap(({ events }) => events)
    .filter((event) => event.type === 'NODE_FAILED' && event.failure.code === 'recovery_error').length;

/** The maximum receive count before a message becomes a dead letter. */
const deliveries = 5;

function judgeGraphs({ runs }: Reading, { starts }: ClientFacts, time: CloudTime): number {
  let foretold = 0;
  for (const [runId, { n, workflowName }] of starts) {
    const run = runs.get(runId);
    const graph = graphs.find(({ definition }) => definition.name === workflowName);
    if (run === undefined || graph === undefined || run.status === 'cancelled') continue;
    if (lostIn(run) > 0) {
      const [from = 0, to = 0] = [run.commits[0]?.at, run.commits.at(-1)?.at];
      const faults = time.faultsBetween(time.realOf(from), time.realOf(to));
      runInvariant(5, faults >= deliveries, `${runId} has a failed node after ${faults} kills`);
      continue;
    }
    const expected = graph.foretold(n);
    const last = run.commits.at(-1)?.events.at(-1);
    const came =
      last?.type === 'RUN_COMPLETED' && 'value' in last.output
        ? { status: 'completed', output: last.output.value }
        : { status: run.status, code: last?.type === 'RUN_FAILED' ? last.error.code : undefined };
    runInvariant(
      6,
      isSame(came, expected),
      `${runId} of ${workflowName} came to ${JSON.stringify(came)}, not ${JSON.stringify(expected)}`,
    );
    foretold += 1;
  }
  return foretold;
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
