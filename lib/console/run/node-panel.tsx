/** One node of a run: its output, each attempt with its error, and what it printed. */
import type { ReactNode } from 'react';
import type { Run, RunEvent } from '../api.ts';
import { CloseButton } from '../primitives/close-button.tsx';
import { durationText } from '../primitives/duration.ts';
import { JsonTree } from '../primitives/json-tree.tsx';
import { Status } from '../primitives/status.tsx';
import { Clock } from '../primitives/time.tsx';
import { NodeActions } from './node-actions.tsx';
import { Value } from './run-data.tsx';

interface NodePanelProps {
  readonly run: Run;
  readonly nodeId: string;
  readonly iteration: string | undefined;
  readonly events: readonly RunEvent[];
  readonly onClose: () => void;
}

const linesOf = ({ type, payload }: RunEvent): readonly unknown[] =>
  type === 'node.log' && Array.isArray(payload['lines']) ? payload['lines'] : [];

export function NodePanel({ run, nodeId, iteration, events, onClose }: NodePanelProps): ReactNode {
  const node = run.nodes.find((each) => each.nodeId === nodeId && each.iteration === iteration);
  const own = events.filter(({ payload }) => payload['nodeId'] === nodeId && payload['iteration'] === iteration);
  const printed = own.flatMap(linesOf);
  return (
    <aside aria-label={`Node ${nodeId}`} className="panel">
      <div className="panel-head">
        <h2>
          <bdi>{node?.label ?? nodeId}</bdi>
        </h2>
        <CloseButton label="Close the node" onClose={onClose} />
      </div>
      <p className="panel-facts">
        {node === undefined ? <span className="dim">not reached</span> : <Status status={node.status} />}
        <code>{nodeId}</code>
        {iteration === undefined ? null : <span className="dim">in {iteration}</span>}
        {node === undefined ? null : <span className="dim">{node.type}</span>}
        {node?.durationMs === undefined ? null : <span className="dim">{durationText(node.durationMs)}</span>}
      </p>
      <NodeActions run={run} nodeId={nodeId} node={node} />
      {node?.error === undefined ? null : (
        <div className="error">
          <p>
            <code>{node.error.code}</code> <bdi>{node.error.message}</bdi>
          </p>
          <JsonTree value={node.error} name="error" depth={2} />
        </div>
      )}
      <h3>Output</h3>
      <Value value={node?.output} omitted={node?.outputOmitted} />
      <Attempts events={own} />
      {printed.length === 0 ? null : (
        <>
          <h3>Printed</h3>
          <pre className="printed">{printed.map(String).join('\n')}</pre>
        </>
      )}
    </aside>
  );
}

const outcomes: readonly string[] = [
  'node.completed',
  'node.retried',
  'node.failed',
  'node.timed_out',
  'node.blocked',
  'node.invalidated',
];

const tookOf = ({ payload }: RunEvent): string => {
  const [from, to] = [payload['startedAt'], payload['endedAt']];
  return typeof from === 'string' && typeof to === 'string' ? durationText(Date.parse(to) - Date.parse(from)) : '';
};

const Attempts = ({ events }: { readonly events: readonly RunEvent[] }): ReactNode => {
  const attempts = events.filter(({ type }) => outcomes.includes(type));
  if (attempts.length === 0) return null;
  return (
    <>
      <h3>Attempts</h3>
      <ol className="attempts">
        {attempts.map((event) => (
          <li key={event.eventId}>
            <Status status={event.type === 'node.completed' ? 'completed' : 'failed'} />{' '}
            <span className="dim">
              <Clock at={event.timestamp} /> {tookOf(event)}
            </span>
            {event.payload['failure'] === undefined ? null : (
              <JsonTree name="failure" value={event.payload['failure']} depth={2} />
            )}
          </li>
        ))}
      </ol>
    </>
  );
};
