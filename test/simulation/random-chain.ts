/**
 * Random graphs whose nodes run one after the other: chains of short nodes, with choices, sequential loops, and now and then a sleep or
 * two branches. Workers commit the results of their idempotent nodes together.
 */
import type { EdgeDefinition, NodeDefinition, WorkflowVersion } from '../../lib/engine/graph/definition.ts';
import { nodeId, workflowName } from '../../lib/engine/ids.ts';
import type { JsonObject } from '../../lib/engine/json.ts';
import type { Prng } from './prng.ts';

/** Retry delays so short that the worker itself waits. */
const atOnce = { attempts: 3, backoffMs: 40, maxBackoffMs: 400, retryOn: ['error'], jitter: 'none' };

/** A few nodes without side effects, whose results one commit can have: it is a part of the head of its run. */
export function randomShortChain(prng: Prng, name: string): WorkflowVersion {
  // The results of many nodes are too large for a head whose run goes on.
  const isLarge = prng.isLucky(0.3);
  const ids = Array.from({ length: isLarge ? prng.whole(16, 24) : prng.whole(1, 9) }, (_, index) => `s${index}`);
  const nodes = [
    ...ids.map((id) => shortWork(prng, id, isLarge ? [20, 20, 5, 40] : [1, 1, 5, 5, 5, 20, 20, 100, 300])),
    ...(prng.isLucky(0.8) ? [{ id: nodeId('end'), type: 'end', config: {} }] : []),
  ];
  const edges = nodes.slice(1).map((node, index) => ({ source: nodes[index]?.id ?? node.id, target: node.id }));
  return { name: workflowName(name), version: 1, nodes, edges, options: {} };
}

/** @param idempotent the share of idempotent nodes */
export function randomChain(prng: Prng, name: string, idempotent: number): WorkflowVersion {
  const nodes: NodeDefinition[] = [];
  const edges: EdgeDefinition[] = [];
  const add = (node: NodeDefinition, parents: readonly NodeDefinition[]): NodeDefinition => {
    nodes.push(node);
    for (const parent of parents) edges.push(edgeTo(parent, node));
    return node;
  };
  let last = add({ id: nodeId('start'), type: 'work', config: { ms: 5, idempotent: prng.isLucky(idempotent) } }, []);
  for (let index = prng.whole(2, 24); index > 0; index -= 1) {
    const id = `c${index}`;
    const dice = prng.next();
    if (dice < 0.04) {
      const branches = ['l', 'r'].map((side) => add(work(prng, `${id}${side}`, idempotent), [last]));
      last = add(work(prng, id, idempotent), branches);
    } else if (dice < 0.07) last = add({ id: nodeId(id), type: 'nap', config: { ms: prng.pick([500, 20_000]) } }, [last]);
    else if (dice < 0.13) {
      last = add({ id: nodeId(id), type: 'loop', config: { items: prng.whole(0, 6), concurrency: 1, continues: true } }, [last]);
      const body = work(prng, `${id}.b`, idempotent);
      nodes.push(body);
      edges.push({ source: last.id, target: body.id, sourceHandle: 'loop' });
    } else if (dice < 0.2) last = add({ id: nodeId(id), type: 'choice', config: { takes: 'left' } }, [last]);
    else last = add(work(prng, id, idempotent), [last]);
  }
  if (prng.isLucky(0.8)) add({ id: nodeId('end'), type: 'end', config: {} }, [last]);
  return { name: workflowName(name), version: 1, nodes, edges, options: {} };
}

/** @param times of its attempts, in ms */
function shortWork(prng: Prng, id: string, times: readonly number[]): NodeDefinition {
  const retry = prng.isLucky(0.5) ? { policy: { retry: atOnce } } : {};
  const fails = prng.pick([0, 0, 0, 0, 0, 0, 0, 0, 0, 0.4]);
  return {
    id: nodeId(id),
    type: 'work',
    config: { idempotent: true, announces: prng.isLucky(0.02), ms: prng.pick(times), fails, ...retry },
  };
}

function work(prng: Prng, id: string, idempotent: number): NodeDefinition {
  const named = prng.isLucky(0.5) ? { outputVariable: prng.pick(['x', 'y']) } : {};
  const retry = prng.isLucky(0.5) ? { retry: atOnce } : {};
  const config: JsonObject = {
    idempotent: prng.isLucky(idempotent),
    announces: prng.isLucky(0.1),
    ms: prng.isLucky(0.05) ? 20_000 : prng.pick([1, 5, 5, 20, 300]),
    fails: prng.pick([0, 0, 0, 0, 0, 0.4]),
    policy: { ...named, ...retry },
  };
  return { id: nodeId(id), type: 'work', config };
}

function edgeTo(source: NodeDefinition, target: NodeDefinition): EdgeDefinition {
  const handle = source.type === 'loop' ? 'done' : source.type === 'choice' ? 'left' : undefined;
  return { source: source.id, target: target.id, ...(handle === undefined ? {} : { sourceHandle: handle }) };
}
