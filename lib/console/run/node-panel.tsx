/** One node of a run: what it saw, what it returned, each attempt with its error, and what it printed. */
import type { ReactNode } from 'react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type Run, type RunNode, type RunNodeDetail, api } from '../api.ts';
import { CloseButton } from '../primitives/close-button.tsx';
import { durationText } from '../primitives/duration.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { Hidden } from '../primitives/hidden.tsx';
import { JsonTree } from '../primitives/json-tree.tsx';
import { Loading } from '../primitives/loading.tsx';
import { Status } from '../primitives/status.tsx';
import { Clock } from '../primitives/time.tsx';
import { isOpenRun } from '../runs/open-run.ts';
import { NodeActions } from './node-actions.tsx';
import { Value } from './run-data.tsx';

interface NodePanelProps {
  readonly run: Run;
  readonly nodeId: string;
  readonly iteration: string | undefined;
  readonly onClose: () => void;
}

const openPollMs = 3_000;
const openStatuses: readonly string[] = ['pending', 'queued', 'running', 'waiting'];

export function NodePanel({ run, nodeId, iteration, onClose }: NodePanelProps): ReactNode {
  const listed = run.nodes.find((each) => each.nodeId === nodeId && each.iteration === iteration);
  const detail = useQuery({
    // The node's own state in the run: when it changes, the panel reads again.
    queryKey: ['node', run.runId, nodeId, iteration, `${listed?.status}#${listed?.attempt}`],
    queryFn: ({ signal }) => api.runNode(run.runId, nodeId, { iteration }, signal),
    // External-worker runs have no log in which a node has a history.
    enabled: run.isExternal !== true,
    placeholderData: (before, query) =>
      query?.queryKey[2] === nodeId && query.queryKey[3] === iteration ? keepPreviousData(before) : undefined,
    refetchInterval: ({ state: { data } }) =>
      isOpenRun(run) && (data === undefined || openStatuses.includes(data.node.status)) ? openPollMs : false,
  });
  // An ended iteration is not in the run any more.
  const node = listed ?? detail.data?.node;
  return (
    <aside aria-label={`Node ${nodeId}`} className="panel">
      <div className="panel-head">
        <h2>
          <bdi>{node?.label ?? nodeId}</bdi>
        </h2>
        <CloseButton label="Close the node" onClose={onClose} />
      </div>
      <NodeFacts node={node} nodeId={nodeId} iteration={iteration} />
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
      <Value value={node?.output} omitted={node?.outputOmitted} isHidden={run.payloadsHidden} />
      {detail.data === undefined ? null : <Seen detail={detail.data} />}
      {detail.error === null ? null : <ErrorText error={detail.error} onRetry={() => void detail.refetch()} />}
      {detail.isLoading ? <Loading /> : null}
    </aside>
  );
}

interface NodeFactsProps {
  readonly node: RunNode | undefined;
  readonly nodeId: string;
  readonly iteration: string | undefined;
}

const NodeFacts = ({ node, nodeId, iteration }: NodeFactsProps): ReactNode => (
  <p className="panel-facts">
    {node === undefined ? <span className="dim">not reached</span> : <Status status={node.status} />}
    <code>{nodeId}</code>
    {iteration === undefined ? null : <span className="dim">in {iteration}</span>}
    {node === undefined ? null : <span className="dim">{node.type}</span>}
    {node?.durationMs === undefined ? null : <span className="dim">{durationText(node.durationMs)}</span>}
  </p>
);

const Seen = ({ detail }: { readonly detail: RunNodeDetail }): ReactNode => {
  const printed = detail.attempts.flatMap(({ attempt, printed: lines = [] }) => lines.map((line) => ({ attempt, line })));
  const hasSeveral = new Set(printed.map(({ attempt }) => attempt)).size > 1;
  return (
    <>
      <Attempts detail={detail} />
      {printed.length === 0 ? null : (
        <>
          <h3>Printed</h3>
          <pre className="printed" tabIndex={0}>
            {printed.map(({ attempt, line }) => (hasSeveral ? `${attempt} | ${line}` : line)).join('\n')}
          </pre>
        </>
      )}
      {detail.payloadsHidden === true ? (
        <>
          <h3>Input, config, context, printed lines</h3>
          <Hidden />
        </>
      ) : null}
      <Part title="Input" value={detail.inputs} omitted={detail.inputsOmitted} />
      <Part title="Config" value={detail.config} omitted={detail.configOmitted} />
      <Part title="Context" value={detail.context} omitted={detail.contextOmitted} />
    </>
  );
};

interface PartProps {
  readonly title: string;
  readonly value: unknown;
  readonly omitted: { readonly bytes: number } | undefined;
}

/** A node that was not reached, and a step of code, have none. */
const Part = ({ title, value, omitted }: PartProps): ReactNode =>
  value === undefined && omitted === undefined ? null : (
    <>
      <h3>{title}</h3>
      <Value value={value} omitted={omitted} isHidden={undefined} />
    </>
  );

const tookOf = ({ startedAt, endedAt }: RunNodeDetail['attempts'][number]): string =>
  startedAt === undefined || endedAt === undefined ? '' : durationText(Date.parse(endedAt) - Date.parse(startedAt));

const Attempts = ({ detail: { attempts, attemptsOmitted } }: { readonly detail: RunNodeDetail }): ReactNode => {
  if (attempts.length === 0) return null;
  return (
    <>
      <h3>
        Attempts <span className="count">{attempts.length + (attemptsOmitted ?? 0)}</span>
      </h3>
      {attemptsOmitted === undefined ? null : <p className="dim">{attemptsOmitted} earlier attempts are not shown.</p>}
      <ol className="attempts" start={attempts[0]?.attempt}>
        {attempts.map((each) => {
          const at = each.endedAt ?? each.startedAt ?? each.queuedAt;
          return (
            <li key={each.attempt}>
              <Status status={each.status} />{' '}
              <span className="dim">
                {at === undefined ? null : <Clock at={at} />} {tookOf(each)}
              </span>
              {each.error === undefined ? null : (
                <>
                  {' '}
                  <bdi>{each.error.message}</bdi>
                  <JsonTree name="error" value={each.error} depth={2} />
                </>
              )}
            </li>
          );
        })}
      </ol>
    </>
  );
};
