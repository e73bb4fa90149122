/** What differs between the definitions of two runs of one workflow. */
import { type ReactNode, useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import { type Run, api } from '../api.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { definitionDiff } from '../workflows/definition-diff.ts';
import { DiffView } from '../workflows/diff-view.tsx';

/** The graph that the run executes. A run of code and an external-worker run have none. */
export const useDefinition = (run: Run | undefined) =>
  useQuery({
    queryKey: ['run', run?.runId, 'definition'],
    queryFn: ({ signal }) => api.runDefinition(run?.runId ?? '', signal),
    enabled: run !== undefined && isGraphRun(run),
    // The graph of a run never changes.
    staleTime: Infinity,
  });

export const isGraphRun = ({ workflowVersion, isTest }: Run): boolean => workflowVersion !== null || isTest === true;

interface DefinitionDifferenceProps {
  readonly a: Run;
  readonly b: Run;
  readonly definitions: readonly [ReturnType<typeof useDefinition>, ReturnType<typeof useDefinition>];
}

export function DefinitionDifference({ a, b, definitions: [one, other] }: DefinitionDifferenceProps): ReactNode {
  const [isOpen, setOpen] = useState(true);
  if (a.workflowVersion === null || b.workflowVersion === null || a.workflowName !== b.workflowName) return null;
  const isSame = a.workflowVersion === b.workflowVersion;
  const error = one.error ?? other.error;
  const differences =
    one.data === undefined || other.data === undefined
      ? undefined
      : definitionDiff(
          { nodes: one.data.nodes, edges: one.data.edges, options: one.data.options },
          { nodes: other.data.nodes, edges: other.data.edges, options: other.data.options },
        );
  return (
    <section className="part" aria-label="Definition">
      <div className="part-head">
        <h2>{isSame ? `Definition v${a.workflowVersion}` : `Definition v${a.workflowVersion} to v${b.workflowVersion}`}</h2>
        {isSame ? null : (
          <button type="button" className="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Hide' : 'Show'}
          </button>
        )}
      </div>
      {isSame ? <p className="none dim">Both runs have the same version.</p> : null}
      {isSame || error === null ? null : (
        <ErrorText error={error} onRetry={() => void Promise.all([one.refetch(), other.refetch()])} />
      )}
      {isSame || !isOpen || differences === undefined ? null : <DiffView differences={differences} />}
    </section>
  );
}
