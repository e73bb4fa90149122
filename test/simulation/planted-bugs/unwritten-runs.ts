/** Planted bugs in starts that wait and leave the head of their run to the worker that they call. */
import type { PlantedBug } from './bug.ts';

const startAndWait = 'lib/service/runs/start-and-wait.ts';
const runShape = 'lib/engine/graph/run-shape.ts';
const writeToHead = 'lib/service/kinds/graph/write-to-head.ts';

/** Chains of mostly idempotent nodes, whose starts wait. */
const chains = { code: 0, runs: 6, idempotent: 0.8, awaited: 1 } as const;

export const unwrittenRunBugs: readonly PlantedBug[] = [
  {
    name: 'a start that waits is answered although no process wrote the head',
    file: startAndWait,
    find: 'if (found !== undefined) return found;',
    replace: 'if (found !== undefined || called !== undefined) return found ?? { ...creation, projection: firstProjection };',
    within: 60,
    options: chains,
  },
  {
    name: 'a worker continues with a head that another process wrote',
    file: writeToHead,
    find: "if (result.kind === 'occupied') {",
    replace: "if (result.kind === 'occupied' && !isWon(result, prepared.commit)) {",
    within: 100,
    options: chains,
  },
  {
    name: 'a node with side effects begins before the head of its run exists',
    file: runShape,
    find: 'return planned?.policy.isIdempotent === true && !planned.recordsStart;',
    replace: 'return planned !== undefined;',
    within: 20,
    faultProfile: 'none',
    options: chains,
  },
  {
    name: 'the head records an end that nothing has published',
    file: 'lib/service/commit/finalize-run.ts',
    find: 'if (isPublished(notices.runEvents, head, end.status)) return undefined;',
    replace: '',
    within: 20,
    faultProfile: 'none',
    options: { ...chains, runEvents: 'ended' },
  },
  {
    name: 'the effects of a head that a worker wrote are not dispatched',
    file: writeToHead,
    find: 'await dispatchEffects(decider, fold, commit);',
    replace: '',
    within: 20,
    faultProfile: 'none',
    options: { ...chains, withoutSweep: true },
  },
  {
    name: 'a commit of results repeats the creation that the head contains',
    file: writeToHead,
    find: 'whole.commit.events.slice(commit.events.length);',
    replace: 'whole.commit.events;',
    within: 60,
    faultProfile: 'none',
    options: chains,
  },
  {
    name: 'a worker writes a head with a nonce of its own',
    file: writeToHead,
    find: 'commit: { ...prepared.commit, events, at, by }',
    replace: 'commit: { ...prepared.commit, events, at, by, nonce: deps.ids.nonce() }',
    within: 60,
    options: chains,
  },
  {
    name: 'a worker answers the end of a run whose head it has not written',
    file: 'lib/service/kinds/graph/run-node.ts',
    find: 'if (fold.state.asOf !== 0) worker.foldCache.put(fold);',
    replace: 'worker.foldCache.put(commit === undefined ? pack.draft : fold);',
    within: 60,
    options: chains,
  },
];
