/** Prepares the first commit of a graph run: decides its roots, or reuses the results of an earlier run. */
import { defined } from '../../../base/defined.ts';
import { decideStart } from '../../../engine/graph/decide.ts';
import type { Plan } from '../../../engine/graph/plan.ts';
import { decideRerunFrom } from '../../../engine/graph/rerun-from.ts';
import { firstCommit } from '../../../engine/ids.ts';
import type { Payload } from '../../../engine/json.ts';
import type { RunEvent } from '../../../engine/log/events.ts';
import { applyEvent, emptyState, openNodes } from '../../../engine/log/fold.ts';
import { instant } from '../../../engine/time.ts';
import { type NotPrepared, type PrepareTerms, type PreparedRun, type ResolvedGraph, isTest } from '../../new-run.ts';
import type { NodeTypeOf } from '../../commit/append-facts.ts';
import type { Decider } from '../../decider.ts';
import { offloadInput, withPayloads } from '../../run-log/payloads.ts';
import { saveTestGraph } from '../../run-log/test-graph.ts';
import { decideTools } from './decide-run.ts';

export async function createGraphRun(
  { deps, plans }: Decider,
  resolved: ResolvedGraph,
  { address, deadline, expiresAt, startsAt, runsOneInline }: PrepareTerms,
): Promise<PreparedRun | NotPrepared> {
  const { version, input, system = {}, startFrom, unsaved } = resolved;
  const payload: Payload = await offloadInput(deps, { address, expiresAt, kind: 'graph' }, input);
  const workflow = { name: version.name, version: version.version };
  if (unsaved !== undefined) await saveTestGraph(deps, address, unsaved, expiresAt);
  const plan =
    unsaved === undefined ? plans.add(address, version) : plans.addTestGraph({ ...workflow, carriedBy: address }, unsaved);
  const events = await withPayloads(deps, address, (loaded) => {
    const tools = decideTools(deps, plans, plan, address, deadline, loaded, runsOneInline);
    return startFrom === undefined
      ? decideStart(payload, system, tools, startsAt)
      : decideRerunFrom(payload, system, startFrom, tools);
  });
  if (events === undefined) return { kind: 'node_not_reached' };
  const nodeTypeOf: NodeTypeOf = (id) => plan.nodes.get(id)?.type;
  const isNewGraphRun = startFrom === undefined && !isTest(resolved);
  return defined({
    created: defined({ kind: 'graph', workflow, deploymentId: null, isTest: isTest(resolved) ? true : undefined }),
    events,
    nodeTypeOf,
    beginsWithScript: isNewGraphRun && beginsWithScript(plan, events) ? true : undefined,
  });
}

/** Whether the only effect of the first commit is that its committer runs one node without side effects. */
function beginsWithScript({ nodes }: Plan, events: readonly RunEvent[]): boolean {
  const state = emptyState();
  for (const event of events) applyEvent(state, event, { commit: firstCommit, at: instant(0) });
  const [only, ...others] = openNodes(state);
  if (only === undefined || only.status === 'waiting' || only.via !== 'inline' || others.length > 0) return false;
  if (only.status === 'queued' && only.notBefore !== undefined) return false;
  const planned = nodes.get(only.nodeId);
  // The start of another node is on record before it runs.
  return planned?.policy.isIdempotent === true && !planned.recordsStart;
}
