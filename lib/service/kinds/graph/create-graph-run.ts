/** Prepares the first commit of a graph run: decides its roots, or reuses the results of an earlier run. */
import { defined } from '../../../base/defined.ts';
import { decideStart } from '../../../engine/graph/decide.ts';
import { decideRerunFrom } from '../../../engine/graph/rerun-from.ts';
import { beginsWithScript, endsInOneWrite } from '../../../engine/graph/run-shape.ts';
import type { Payload } from '../../../engine/json.ts';
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
  const holdsSecondCommit = isNewGraphRun && endsInOneWrite(plan, events, deps.notices.runEvents) ? true : undefined;
  return defined({
    created: defined({
      kind: 'graph',
      workflow,
      deploymentId: null,
      isTest: isTest(resolved) ? true : undefined,
      holdsSecondCommit,
    }),
    events,
    nodeTypeOf,
    beginsWithScript: isNewGraphRun && beginsWithScript(plan, events) ? true : undefined,
  });
}
