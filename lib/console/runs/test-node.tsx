/** Runs one node as a test run: a start, the node, and an end. Nothing is published, and its data is deleted after. */
import type { ReactNode } from 'react';
import type { JsonObject } from '../../engine/json.ts';
import type { RunNode, TestBody } from '../api.ts';
import { durationText } from '../primitives/duration.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { Hidden } from '../primitives/hidden.tsx';
import { JsonTree } from '../primitives/json-tree.tsx';
import { Loading } from '../primitives/loading.tsx';
import { Status } from '../primitives/status.tsx';
import type { TestRun } from './use-test-run.ts';

const nodeId = 'tried';

export const testOf = (type: string, config: JsonObject, input: JsonObject): TestBody => ({
  nodes: [
    { id: 'start', type: 'start' },
    { id: nodeId, type, config },
    { id: 'end', type: 'end' },
  ],
  edges: [
    { source: 'start', target: nodeId },
    { source: nodeId, target: 'end' },
  ],
  input,
});

interface TriedNodeProps {
  readonly test: TestRun;
  readonly children: (node: RunNode) => ReactNode;
}

/** The state of the node, and its failure, or what `children` makes of its output. */
export function TriedNode({ test, children }: TriedNodeProps): ReactNode {
  if (test.error !== null) return <ErrorText error={test.error} />;
  const node = test.run?.nodes.find((each) => each.nodeId === nodeId);
  if (test.run === undefined) return null;
  if (node === undefined) return test.run.error === undefined ? <Loading /> : <Failure error={test.run.error} />;
  return (
    <section className="card" aria-label="Result">
      <p className="tried" role="status">
        <Status status={node.status} />
        <span className="dim">
          {node.durationMs === undefined ? '' : durationText(node.durationMs)}
          {node.attempt > 1 ? `, attempt ${node.attempt}` : ''}
        </span>
        <button type="button" className="quiet" onClick={test.clear}>
          Clear
        </button>
      </p>
      {node.error === undefined ? null : <Failure error={node.error} />}
      {node.outputOmitted === undefined ? null : (
        <p className="dim">{node.outputOmitted.bytes.toLocaleString()} bytes: too large for a response of the API.</p>
      )}
      {test.run.payloadsHidden === true ? <Hidden /> : null}
      {node.output === undefined ? null : children(node)}
    </section>
  );
}

const Failure = ({ error }: { readonly error: NonNullable<RunNode['error']> }): ReactNode => (
  <div className="error" role="alert">
    <p>
      <code>{error.code}</code> <bdi>{error.message}</bdi>
    </p>
    {error.details === undefined ? null : <JsonTree value={error.details} />}
  </div>
);
