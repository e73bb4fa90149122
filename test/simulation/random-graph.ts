/** Random graph workflows, drawn from the seed: layered graphs of work, choices, delays and joins, with policies. */
import { compile } from '../../lib/engine/graph/compile.ts';
import {
  type EdgeDefinition,
  type NodeDefinition,
  type WorkflowVersion,
  mergeStrategies,
} from '../../lib/engine/graph/definition.ts';
import type { Outcome } from '../../lib/engine/graph/outcome.ts';
import type { NodePolicy } from '../../lib/engine/graph/plan.ts';
import { nodeId, workflowName } from '../../lib/engine/ids.ts';
import { type JsonObject, isJsonObject } from '../../lib/engine/json.ts';
import { type Instant, after, durationMs, minutes, seconds } from '../../lib/engine/time.ts';
import type { GraphTypes } from '../../lib/service/commit/plans.ts';
import { nodeInputDigest } from './node-input-digest.ts';
import type { Prng } from './prng.ts';

const calm: NodePolicy = {
  joinMode: 'all',
  errorHandling: 'continue',
  onParentFailure: 'skip',
  merge: 'last_write_wins',
  retry: { attempts: 3, backoffMs: seconds(1), maxBackoffMs: seconds(8), retryOn: ['error'], jitter: 'none' },
  timeoutMs: seconds(30),
  isDisabled: false,
};

/** Retry delays so short that the worker itself waits. */
const atOnce = { attempts: 3, backoffMs: 40, maxBackoffMs: 400, retryOn: ['error'], jitter: 'none' } as const;

/** Policies other than the defaults are part of the node's config, so that a version is complete. */
const policyOf = (node: NodeDefinition): NodePolicy => ({
  ...calm,
  ...(node.config['policy'] as Partial<NodePolicy> | undefined),
});

const pureTypes = new Set(['choice', 'nap', 'wait', 'call', 'end', 'loop']);

/**
 * The node types of the simulation: `work` needs a worker, the others are decided in their parent's commit.
 * @param isIdempotent whether a node is idempotent, by the name of its workflow and its id, if its config does not say it
 */
export const simulatedTypesWith = (isIdempotent: (node: string) => boolean): GraphTypes => ({
  compile: (version) =>
    compile(version, (node) => ({
      policy: {
        ...policyOf(node),
        isIdempotent: node.config['idempotent'] === true || isIdempotent(`${version.name} ${node.id}`),
      },
      isPure: pureTypes.has(node.type),
      recordsStart: node.config['announces'] === true,
      isLoop: node.type === 'loop',
      ...(node.config['endsRun'] === true ? { endsRun: true as const } : {}),
    })),
  evaluate: (node, input, now): Outcome => {
    switch (node.type) {
      case 'nap':
        return { kind: 'sleeping', wakeAt: after(now, durationMs(Number(node.config['ms']))), output: { value: 'slept' } };
      case 'wait':
        return waitOf(node.config, now);
      case 'call':
        return callOf(node.config, now);
      case 'loop':
        return passesOf(node.config);
      case 'choice':
        return { kind: 'finished', output: { value: null }, handle: node.config['takes'] === 'left' ? 'left' : 'right' };
      default:
        return {
          kind: 'finished',
          output: { value: { from: node.id, given: nodeInputDigest(input) } },
          handle: null,
          end: node.config['fails'] === true ? 'error' : 'success',
        };
    }
  },
});

export const simulatedTypes = simulatedTypesWith(() => false);

/** @see LoopSettings; `items` is the number of items */
const passesOf = ({ items, concurrency, delayMs, continues, item }: JsonObject): Outcome => ({
  kind: 'expanding',
  itemVariable: 'item',
  indexVariable: 'index',
  concurrency: Number(concurrency ?? 1),
  delayMs: durationMs(Number(delayMs ?? 0)),
  onItemFailure: continues === true ? 'continue' : 'fail',
  items: { value: Array.from({ length: Number(items ?? 3) }, (_, index) => item ?? index) },
});

const waitOf = ({ name, correlation, ms, continues }: JsonObject, now: Instant): Outcome => ({
  kind: 'awaiting',
  name: typeof name === 'string' ? name : '',
  ...(typeof correlation === 'string' ? { correlation } : {}),
  ...(ms === undefined ? {} : { expiresAt: after(now, durationMs(Number(ms))) }),
  ...(continues === true ? { expiryHandle: 'output' } : {}),
});

const callOf = ({ calls, version, ms, goesOn, cancels, input = null }: JsonObject, now: Instant): Outcome => ({
  kind: 'calling',
  workflowName: typeof calls === 'string' ? calls : '',
  ...(typeof version === 'number' ? { version } : {}),
  input: { value: input },
  ...(ms === undefined ? {} : { expiresAt: after(now, durationMs(Number(ms))) }),
  parentClosePolicy: goesOn === true ? 'abandon' : 'cancel',
  onChildCancelled: cancels === true ? 'cancel' : 'fail',
});

/** Few signal keys, so that several waits of several runs share each. */
export const simulatedSignalKeys = [0, 1, 2].map((index) => ({ name: `signal-${index % 2}`, correlation: `thing-${index}` }));

/** The share of nodes that wait for signals: none or few in some workflows, and in others so many that they contend for the same signals. */
const shareOfWaits = [0.03, 0.08, 0.3];

/** A child workflow that starts no child runs. */
export const leafVersion: WorkflowVersion = {
  name: workflowName('leaf-graph'),
  version: 1,
  nodes: [
    { id: nodeId('start'), type: 'work', config: { ms: 50 } },
    { id: nodeId('end'), type: 'end', config: {} },
  ],
  edges: [{ source: nodeId('start'), target: nodeId('end') }],
  options: {},
};

/** A child workflow that runs long: a parent may stop waiting for it. */
export const longRunningVersions: readonly WorkflowVersion[] = Object.entries({
  'leaf-nap': [{ id: 'nap', type: 'nap', config: { ms: 7_200_000 } }],
  // This signal is never sent: the run ends only when its parent stops waiting.
  'leaf-wait': [{ id: 'wait', type: 'wait', config: { name: 'signal-of-nobody', correlation: 'nothing' } }],
  'leaf-loop': [
    { id: 'loop', type: 'loop', config: { items: 11, delayMs: 30_000 } },
    { id: 'loop.work', type: 'work', config: { ms: 800 } },
  ],
} as const).map(([name, drawn]) => ({
  name: workflowName(name),
  version: 1,
  nodes: drawn.map(({ id, ...node }) => ({ id: nodeId(id), ...node })),
  edges: drawn.length < 2 ? [] : [{ source: nodeId('loop'), target: nodeId('loop.work'), sourceHandle: 'loop' }],
  options: {},
}));

/** A child run that runs until its parent stops waiting must be cancelled then. */
const lastingCalls = [
  { calls: 'leaf-nap' },
  { calls: 'leaf-nap', ms: 20_000 },
  { calls: 'leaf-loop', ms: 60_000 },
  { calls: 'leaf-wait', ms: 20_000, goesOn: false },
  { calls: 'leaf-wait', ms: 600_000, goesOn: false },
] as const;

/**
 * @param isBrisk no node sleeps or awaits a signal
 * @param isWide it begins with so many branches that their results are collected
 */
export function randomVersion(prng: Prng, name: string, isBrisk: boolean, isWide = false): WorkflowVersion {
  const ink = prng.fork();
  const calls = ink.isLucky(0.1) ? 0.3 : 0;
  const waits = isBrisk ? 0 : prng.pick(isWide ? shareOfWaits.slice(0, 2) : shareOfWaits);
  const layers = Array.from({ length: prng.whole(1, 5) }, (_, layer) =>
    Array.from({ length: isWide && layer === 0 ? 14 : prng.whole(1, prng.isLucky(0.15) ? 14 : 3) }, (_none, index) =>
      randomNode(prng, `n${layer}_${index}`, { isBrisk, waits }),
    ),
  );
  const nodes = [{ id: nodeId('start'), type: 'work', config: {} as JsonObject }, ...layers.flat()];
  const edges: EdgeDefinition[] = [];
  let above = nodes.slice(0, 1);
  for (const layer of layers) {
    for (const node of layer) {
      const parents = above.filter(() => prng.isLucky(0.6));
      for (const parent of parents.length > 0 ? parents : [prng.pick(above)]) edges.push(edge(prng, parent, node));
    }
    above = layer;
  }
  if (prng.isLucky(0.8)) {
    const end = { id: nodeId('end'), type: 'end', config: {} as JsonObject };
    for (const node of above)
      edges.push({ source: node.id, target: end.id, ...(node.type === 'loop' ? { sourceHandle: 'done' } : {}) });
    nodes.push(end);
  }
  for (const node of nodes) if (node.type === 'loop') addBody(prng, node, { nodes, edges }, { isBrisk, waits });
  const written = nodes.map((node) =>
    isJsonObject(node.config['policy']) ? withNames(ink, node, node.config['policy'], { isBrisk, calls }) : node,
  );
  const passed = edges.map((each) => labelled(ink, each));
  return { name: workflowName(name), version: 1, ...withEndings(ink.fork(), { nodes: written, edges: passed }), options: {} };
}

/** Joins that need parents that succeeded, and ends that end the run: at the end of the graph, and behind an error edge. */
function withEndings(ink: Prng, { nodes, edges }: Pick<WorkflowVersion, 'nodes' | 'edges'>) {
  const joined = nodes.map((node): NodeDefinition => {
    const { policy } = node.config;
    const isPlain = isJsonObject(policy) && policy['joinMode'] === 'all' && policy['onParentFailure'] !== 'substitute_default';
    return isPlain && ink.isLucky(0.25)
      ? { ...node, config: { ...node.config, policy: { ...policy, joinMode: 'allSucceeded' } } }
      : node;
  });
  const last: JsonObject = {
    endsRun: true,
    fails: ink.isLucky(0.3),
    policy: { joinMode: ink.pick(['any', 'all', 'allSucceeded']) },
  };
  const isLast = ink.isLucky(0.25);
  const ended = joined.map((node) => (node.type === 'end' && isLast ? { ...node, config: { ...node.config, ...last } } : node));
  const guarded = ended.find(({ id, type, config }) => type === 'work' && !id.includes('.') && Number(config['fails'] ?? 0) > 0);
  if (guarded === undefined || !ink.isLucky(0.4)) return { nodes: ended, edges };
  const halt = { id: nodeId('halt'), type: 'end', config: { endsRun: true, fails: ink.isLucky(0.5) } };
  return { nodes: [...ended, halt], edges: [...edges, { source: guarded.id, target: halt.id, sourceHandle: 'error' }] };
}

/** Few names, so that several nodes write the same name and several edges bring values for the same name. */
const variables = ['x', 'y', 'z'] as const;
const labels = ['side', 'client'] as const;

/** Work that exceeds the time limit of its node, and work nearly as long as a worker's time; mean in minutes. */
const longWork = [
  { ms: minutes(10) },
  { ms: minutes(3), timeoutMs: minutes(14) },
  { ms: minutes(6), timeoutMs: minutes(14) },
] as const;

/** The name that a node writes, its merge strategy, and its long work. */
const withNames = (
  ink: Prng,
  node: NodeDefinition,
  policy: JsonObject,
  { isBrisk, calls }: { readonly isBrisk: boolean; readonly calls: number },
): NodeDefinition => {
  const named = ink.isLucky(0.5) ? { outputVariable: ink.pick(variables) } : {};
  const isApart = isBrisk || node.id.includes('.');
  const own = { ...policy, ...named, merge: ink.pick(mergeStrategies) };
  const isCall = node.type === 'call' ? ink.isLucky(0.5) : node.type === 'work' && ink.isLucky(calls);
  if (isCall && !isApart) return { ...node, type: 'call', config: { cancels: false, ...ink.pick(lastingCalls), policy: own } };
  if (node.type !== 'work' || isApart || !ink.isLucky(0.04)) return { ...node, config: { ...node.config, policy: own } };
  const { ms, ...limit } = ink.pick(longWork);
  return { ...node, config: { ...node.config, ms, policy: { ...own, ...limit } } };
};

const labelled = (ink: Prng, drawn: EdgeDefinition): EdgeDefinition => {
  if (!ink.isLucky(0.8)) return drawn;
  const own = ink.isLucky(0.2) ? { mergeStrategy: ink.pick(mergeStrategies) } : {};
  return { ...drawn, targetParamLabel: ink.pick(labels), ...own };
};

/** One to three nodes, in sequence or in parallel, sometimes with an inner loop; sometimes an edge leads back to the loop. */
function addBody(prng: Prng, loop: NodeDefinition, graph: { nodes: NodeDefinition[]; edges: EdgeDefinition[] }, mix: Mix): void {
  let above = loop;
  for (let index = prng.whole(1, 3); index > 0; index -= 1) {
    const drawn = randomNode(prng, `${loop.id}.b${index}`, mix);
    const isTooDeep = drawn.type === 'loop' && loop.id.includes('.');
    const node = isTooDeep ? { ...drawn, type: 'work', config: {} } : drawn;
    const isBeside = above === loop || prng.isLucky(0.3);
    graph.edges.push(isBeside ? { source: loop.id, target: node.id, sourceHandle: 'loop' } : edge(prng, above, node));
    graph.nodes.push(node);
    above = node;
  }
  if (prng.isLucky(0.3)) graph.edges.push(edge(prng, above, loop));
}

interface Mix {
  readonly isBrisk: boolean;
  /** the share of nodes that wait for a signal */
  readonly waits: number;
}

function randomNode(prng: Prng, id: string, { isBrisk, waits }: Mix): NodeDefinition {
  const policy = {
    joinMode: prng.isLucky(0.2) ? 'any' : 'all',
    errorHandling: prng.isLucky(0.05) ? 'fail_workflow' : 'continue',
    onParentFailure: prng.pick(['skip', 'skip', 'propagate', 'substitute_default']),
    isDisabled: prng.isLucky(0.03),
  };
  if (prng.isLucky(waits)) {
    // In nested loops, a hundred of them would wait for as many signals.
    const endless = id.includes('.') ? { ms: 60_000 } : {};
    const patience = prng.pick([endless, { ms: 20_000 }, { ms: 600_000 }, { ms: 7_200_000, continues: true }]);
    return { id: nodeId(id), type: 'wait', config: { policy, ...prng.pick(simulatedSignalKeys), ...patience } };
  }
  if (prng.isLucky(0.04)) {
    const calls = prng.pick(['leaf-graph', 'leaf-code', 'nobody']);
    const patience = isBrisk ? {} : prng.pick([{}, {}, { ms: 20_000 }]);
    const config = { policy, calls, goesOn: prng.isLucky(0.3), cancels: prng.isLucky(0.3), ...patience };
    return { id: nodeId(id), type: 'call', config };
  }
  const dice = prng.next();
  if (dice < 0.12) return { id: nodeId(id), type: 'choice', config: { policy, takes: prng.pick(['left', 'right']) } };
  if (dice < 0.22 && !isBrisk)
    return { id: nodeId(id), type: 'nap', config: { policy, ms: prng.pick([500, 20_000, 600_000, 7_200_000]) } };
  if (dice < 0.27) {
    const [items, concurrency] = prng.pick([
      [0, 1],
      [1, 1],
      [2, 1],
      [2, 2],
      [3, 2],
      [11, 10],
    ] as const);
    const delayMs = isBrisk ? 0 : prng.pick([0, 0, 0, 700, 30_000]);
    // Sometimes so large that the items are offloaded.
    const item = prng.isLucky(0.1) ? { item: 'x'.repeat(6_000) } : {};
    return {
      id: nodeId(id),
      type: 'loop',
      config: { policy, items, concurrency, delayMs, continues: prng.isLucky(0.5), ...item },
    };
  }
  return {
    id: nodeId(id),
    type: 'work',
    config: {
      policy: prng.isLucky(0.3) ? { ...policy, retry: atOnce } : policy,
      announces: prng.isLucky(0.2),
      ms: prng.pick([5, 50, 800, 12_000]),
      fails: prng.pick([0, 0, 0, 0.3, 1]),
    },
  };
}

function edge(prng: Prng, source: NodeDefinition, target: NodeDefinition): EdgeDefinition {
  const main = source.type === 'loop' ? 'done' : undefined;
  const handle = source.type === 'choice' ? prng.pick(['left', 'right']) : prng.isLucky(0.08) ? 'error' : main;
  return { source: source.id, target: target.id, ...(handle === undefined ? {} : { sourceHandle: handle }) };
}
