/**
 * Plays a graph run to its end in an order chosen by a seed: which node starts, ends or wakes next, which results share a commit,
 * and which facts are repeated or come early. A repeated fact must change nothing.
 */
import type { Fact } from '../../lib/engine/graph/facts.ts';
import type { Outcome } from '../../lib/engine/graph/outcome.ts';
import { nodeKey, topLevel } from '../../lib/engine/ids.ts';
import type { OpenNode } from '../../lib/engine/log/node-state.ts';
import { isTerminal } from '../../lib/engine/log/fold.ts';
import { type Instant, instant } from '../../lib/engine/time.ts';
import { type Graph, finished } from './graph-builder.ts';
import { GraphRunFixture } from './graph-run-fixture.ts';

/** The outcome of a worker's attempt. */
export type Script = (id: string, attempt: number, iteration: string) => Outcome;

/** A number from 0 up to, not including, `below`. Mulberry32: small, and the same on every machine. */
const seededChooser = (seed: number): ((below: number) => number) => {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
};

/** @param cancelAfter the commit after which a cancel arrives */
export const runToCompletion = (
  graph: Graph,
  seed: number,
  script: Script = finishes,
  { cancelAfter = Infinity }: { readonly cancelAfter?: number } = {},
): GraphRunFixture => {
  const choose = seededChooser(seed);
  const play = new GraphRunFixture(graph, { runsOneInline: choose(2) === 0 });
  const past: Fact[] = [];
  play.start({ seed });

  const woken = (id: string, at: Instant): Fact => {
    if (at > play.now) {
      expectNoEffect(play, play.woken(id));
      play.now = at;
    }
    return play.woken(id);
  };
  const nextOf = (node: OpenNode): Fact => {
    const key = nodeKey(node);
    if (node.status === 'waiting') {
      if (node.for === 'iterations') return woken(key, node.loop.wakeAt ?? play.now);
      const early: Fact = { kind: 'wake-requested', nodeIds: [node.nodeId] };
      if (node.for === 'signal') {
        if (node.iteration === topLevel) expectNoEffect(play, early);
        return choose(2) === 0 || node.expiresAt === undefined ? play.signalled(key) : woken(key, node.expiresAt);
      }
      if (node.for === 'child') {
        if (node.iteration === topLevel) expectNoEffect(play, early);
        return choose(2) === 0 || node.expiresAt === undefined ? play.childEnded(key) : woken(key, node.expiresAt);
      }
      // A node with the same id in another iteration may sleep too, and wakes with it.
      return node.iteration === topLevel && choose(4) === 0 ? early : woken(key, node.wakeAt);
    }
    if (node.status === 'queued' && node.notBefore !== undefined && node.notBefore > play.now) play.now = instant(node.notBefore);
    if (node.status === 'queued' && choose(3) === 0) return play.started(key);
    return play.ended(key, script(node.nodeId, node.attempt, node.iteration));
  };

  // A start and an end of each of three attempts, a sleep and a wake, and some spare.
  let stepsLeft = 200 + graph.plan.nodes.size * (graph.plan.loops.size === 0 ? 20 : 500);
  while (!isTerminal(play.state.progress)) {
    stepsLeft -= 1;
    if (stepsLeft < 0) throw new Error('the run does not end');
    if (play.commits.length >= cancelAfter) {
      past.push(...movable(play).map(nextOf));
      play.decide({ kind: 'cancel-requested' });
      break;
    }
    const open = [...movable(play)];
    if (open.length === 0) throw new Error('the run is open and no node is');
    const together = choose(4) === 0 ? Math.min(open.length, 1 + choose(10)) : 1;
    const facts = Array.from({ length: together }, () => open.splice(choose(open.length), 1))
      .flat()
      .map(nextOf);
    play.decide(...facts);
    past.push(...facts);
    if (choose(3) === 0) expectNoEffect(play, past[choose(past.length)]);
  }
  for (const fact of past) expectNoEffect(play, fact);
  return play;
};

/** A loop that is not paused progresses by its iterations alone. */
const movable = (play: GraphRunFixture): readonly OpenNode[] =>
  play.open().filter((node) => node.status !== 'waiting' || node.for !== 'iterations' || node.loop.wakeAt !== undefined);

const finishes: Script = (id) => finished(id);

const expectNoEffect = (play: GraphRunFixture, fact: Fact | undefined): void => {
  if (fact !== undefined && play.decide(fact).length > 0)
    throw new Error(`${JSON.stringify(fact)} was repeated and changed the run`);
};

/** Checks rules that hold for every log of any graph in any order; returns the violations. */
export const violationsOf = (play: GraphRunFixture): readonly string[] => {
  const violations: string[] = [];
  const counts = new Map<string, number>();
  let nextEvent = 1;
  for (const [index, commit] of play.commits.entries()) {
    if (commit.number !== index + 1) violations.push(`commit ${commit.number} stands at place ${index + 1}`);
    if (commit.firstEventId !== nextEvent) violations.push(`commit ${commit.number} begins with event ${commit.firstEventId}`);
    if (commit.events.length === 0) violations.push(`commit ${commit.number} is empty`);
    nextEvent += commit.events.length;
    for (const event of commit.events) {
      const what = classOf(event.type);
      if (what === undefined) continue;
      const iterationSuffix = 'index' in event ? `[${event.index}]` : '';
      const name = 'nodeId' in event ? `${nodeKey(event)}${iterationSuffix} ${what}` : what;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  for (const [name, count] of counts) if (count > 1) violations.push(`${name} ${count} times`);
  if (counts.get('run ended') !== 1 || classOf(play.events.at(-1)?.type ?? '') !== 'run ended')
    violations.push('the run’s ending is not its last event');
  if (play.open().length > 0) violations.push(`open at the end: ${play.openIds().join()}`);
  return violations;
};

const classOf = (type: string): string | undefined => {
  if (['RUN_COMPLETED', 'RUN_FAILED', 'RUN_TIMED_OUT', 'RUN_CANCELLED'].includes(type)) return 'run ended';
  if (['NODE_COMPLETED', 'NODE_FAILED', 'NODE_SKIPPED'].includes(type)) return 'ended';
  if (type === 'ITERATION_STARTED') return 'iteration begun';
  if (type === 'ITERATION_ENDED') return 'iteration ended';
  if (type === 'LOOP_STARTED') return 'loop begun';
  return type === 'NODE_DISPATCHED' ? 'dispatched' : undefined;
};
