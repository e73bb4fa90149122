/** Outputs that a rerun from a node or a step has in place of those that it keeps, as JSON that a person edits. */
import type { ReactNode } from 'react';
import type { JsonValue } from '../../engine/json.ts';
import type { Run, RunNode } from '../api.ts';
import type { RequestBody } from '../../client/route-types.ts';
import { isGraphRun, useDefinition } from '../compare/definition-difference.tsx';
import { definitionGraph, type DrawnEdge } from '../layout/definition-graph.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { jsonOf } from '../primitives/form-text.ts';

/** The text of each replaced output, by the id of its node. */
export type Replaced = ReadonlyMap<string, string>;

/** The steps of code that a rerun can begin with, by the types that the API gives them. A rollback is no step of the author. */
const stepTypes: readonly string[] = ['function', 'sleep', 'workflow', 'signal-wait', 'signal-send'];

/** Whether a run can continue from the node: a node of a published graph, or a step of code that is replayed. */
export const canRerunFrom = (run: Run, { type, iteration }: RunNode): boolean =>
  iteration === undefined && (isGraphRun(run) ? run.workflowVersion !== null : stepTypes.includes(type));

/** The completed steps that began before the end of the step. A rerun from it takes over their results. */
function keptSteps(nodes: readonly RunNode[], fromNode: string): readonly RunNode[] {
  const until = nodes.find(({ nodeId }) => nodeId === fromNode)?.completedAt;
  return nodes.filter(
    ({ nodeId, type, status, startedAt }) =>
      nodeId !== fromNode &&
      stepTypes.includes(type) &&
      status === 'completed' &&
      startedAt !== undefined &&
      (until === undefined || startedAt <= until),
  );
}

/** The nodes whose outputs can be replaced: those that ended, and do not run again. */
function keptNodes(nodes: readonly RunNode[], edges: readonly DrawnEdge[], fromNode: string): readonly RunNode[] {
  const again = new Set([fromNode]);
  for (const id of again) for (const { source, target } of edges) if (source === id) again.add(target);
  return nodes.filter(
    ({ nodeId, iteration, status, attempt, type }) =>
      iteration === undefined && ended.includes(status) && attempt > 0 && type !== 'start' && !again.has(nodeId),
  );
}

const ended: readonly RunNode['status'][] = ['completed', 'failed', 'timed_out', 'blocked', 'invalidated'];

/** What the request has for the replaced outputs. @throws SyntaxError that names the node */
export function replacementsOf(run: Run, replaced: Replaced): Pick<RequestBody<'rerunRun'>, 'replace' | 'results'> {
  if (replaced.size === 0) return {};
  const values = [...replaced].map(([nodeId, text]) => [nodeId, valueOf(nodeId, text)] as const);
  return isGraphRun(run)
    ? { replace: Object.fromEntries(values.map(([nodeId, output]) => [nodeId, { output }])) }
    : { results: Object.fromEntries(values) };
}

function valueOf(nodeId: string, text: string): JsonValue {
  try {
    return jsonOf(text);
  } catch (error) {
    throw new SyntaxError(`Output of ${nodeId}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

interface ReplacedOutputsProps {
  readonly run: Run;
  readonly fromNode: string;
  readonly replaced: Replaced;
  readonly onChange: (replaced: Replaced) => void;
}

export function ReplacedOutputs(props: ReplacedOutputsProps): ReactNode {
  const { run, fromNode } = props;
  const { data, error, refetch } = useDefinition(run);
  if (!isGraphRun(run)) return <OutputFields {...props} kept={keptSteps(run.nodes, fromNode)} />;
  if (error !== null) return <ErrorText error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return null;
  return <OutputFields {...props} kept={keptNodes(run.nodes, definitionGraph(data.nodes, data.edges).edges, fromNode)} />;
}

interface OutputFieldsProps extends Pick<ReplacedOutputsProps, 'replaced' | 'onChange'> {
  readonly kept: readonly RunNode[];
}

function OutputFields({ kept, replaced, onChange }: OutputFieldsProps): ReactNode {
  const set = (nodeId: string, text: string | undefined): void => {
    const next = new Map(replaced);
    if (text === undefined) next.delete(nodeId);
    else next.set(nodeId, text);
    onChange(next);
  };
  const others = kept.filter(({ nodeId }) => !replaced.has(nodeId));
  return (
    <>
      {kept
        .filter(({ nodeId }) => replaced.has(nodeId))
        .map((node) => (
          <div key={node.nodeId}>
            <label>
              Output of {node.nodeId}, as JSON
              <textarea
                rows={4}
                value={replaced.get(node.nodeId)}
                spellCheck={false}
                onChange={({ currentTarget: { value } }) => set(node.nodeId, value)}
              />
            </label>
            <button type="button" className="quiet" onClick={() => set(node.nodeId, undefined)}>
              {node.status === 'completed' ? `Keep the output of ${node.nodeId}` : `Leave ${node.nodeId} ${node.status}`}
            </button>
          </div>
        ))}
      {others.length === 0 ? null : (
        <label>
          Replace an output
          <select
            value=""
            onChange={({ currentTarget: { value } }) => {
              const output = kept.find(({ nodeId }) => nodeId === value)?.output;
              if (value !== '') set(value, output === undefined ? '' : JSON.stringify(output, undefined, 2));
            }}
          >
            <option value="">of a node that does not run again…</option>
            {others.map(({ nodeId, label, status }) => (
              <option key={nodeId} value={nodeId}>
                {label ?? nodeId} ({status})
              </option>
            ))}
          </select>
        </label>
      )}
    </>
  );
}
