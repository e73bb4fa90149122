/** The way from a failed run to the attempt that failed first: a link for each step, and the author's line at the end. */
import { Fragment, type ReactNode } from 'react';
import { useQuery } from '@tanstack/react-query';
import type { Run } from '../api.ts';
import { OwnText } from '../primitives/own-text.tsx';
import { Link } from '../router.tsx';
import { type CauseStep, causeChain, causeReader } from './root-cause.ts';

export function CauseLine({ run }: { readonly run: Run }): ReactNode {
  const { data: steps = [] } = useQuery({
    queryKey: ['cause', run.runId],
    queryFn: ({ signal }) => causeChain(run, causeReader(signal)),
    enabled: run.status === 'failed',
    // A failed run stays as it failed.
    staleTime: Number.POSITIVE_INFINITY,
  });
  const last = steps.at(-1);
  // One step without a line says no more than the sentence above it.
  if (last === undefined || (steps.length === 1 && last.at === undefined)) return null;
  return (
    <p className="cause">
      <span className="dim">Root cause</span>{' '}
      {steps.map((step, index) => (
        <Fragment key={`${step.runId}${step.nodeId ?? ''}${step.iteration ?? ''}`}>
          {index === 0 ? null : <span aria-hidden="true"> › </span>}
          {step.nodeId === undefined ? (
            <bdi>{step.workflowName}</bdi>
          ) : (
            <StepLink step={step} isOther={step.runId !== run.runId} />
          )}
        </Fragment>
      ))}
      {steps.length === 1 ? null : (
        <>
          {': '}
          <code>{last.error.code}</code> <OwnText>{last.error.message}</OwnText>
        </>
      )}
      {last.at === undefined ? null : (
        <>
          {' at '}
          <code>
            <bdi>{last.at}</bdi>
          </code>
        </>
      )}
    </p>
  );
}

const StepLink = ({ step, isOther }: { readonly step: CauseStep; readonly isOther: boolean }): ReactNode => {
  const { runId, workflowName, nodeId = '', iteration } = step;
  const search = new URLSearchParams({ node: nodeId, ...(iteration === undefined ? {} : { iteration }) });
  return (
    <Link to={`/runs/${encodeURIComponent(runId)}?${search.toString()}`}>
      {isOther ? (
        <>
          <bdi>{workflowName}</bdi>:{' '}
        </>
      ) : null}
      <bdi>{nodeId}</bdi>
      {iteration === undefined ? '' : ` in ${iteration}`}
    </Link>
  );
};
