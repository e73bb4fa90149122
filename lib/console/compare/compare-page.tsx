/** Two runs beside each other: what differs in their inputs, their paths, the outputs of their nodes, and their definitions. */
import { type ReactNode, useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import { type Run, api } from '../api.ts';
import { type DrawnEdge, definitionGraph } from '../layout/definition-graph.ts';
import { Loading } from '../primitives/loading.tsx';
import { Refusal } from '../primitives/refusal.tsx';
import { Link, setSearch, useSearch } from '../router.tsx';
import { isOpenRun } from '../runs/open-run.ts';
import { definitionDiff } from '../workflows/definition-diff.ts';
import { DiffView } from '../workflows/diff-view.tsx';
import { ChooseRuns } from './choose-runs.tsx';
import { compareNodes } from './compare-runs.ts';
import { InputDifference } from './input-difference.tsx';
import { NodeTable } from './node-table.tsx';
import { Side } from './side.tsx';

export function ComparePage(): ReactNode {
  const search = useSearch();
  const [a, b] = [search.get('a') ?? '', search.get('b') ?? ''];
  return (
    <section aria-labelledby="compare-title">
      <nav aria-label="Path" className="crumbs">
        <Link to="/runs">Runs</Link> <span aria-hidden="true">/</span> Compare
      </nav>
      <div className="page-head">
        <h1 id="compare-title">Compare two runs</h1>
        {a === '' || b === '' ? null : (
          <button type="button" onClick={() => setSearch({ a: b, b: a })}>
            Swap A and B
          </button>
        )}
      </div>
      {a === '' || b === '' ? <ChooseRuns a={a} b={b} /> : <TwoRuns key={`${a} ${b}`} a={a} b={b} />}
    </section>
  );
}

const useRun = (runId: string) =>
  useQuery({
    queryKey: ['run', runId, 'all'],
    queryFn: ({ signal }) => api.run(runId, {}, signal),
    refetchInterval: (query) => (query.state.data === undefined || isOpenRun(query.state.data) ? 5_000 : false),
  });

/** The definition of the version that the run has. A run of code has none. */
const useDefinition = (run: Run | undefined) => {
  const name = run?.workflowName ?? '';
  const version = run?.workflowVersion ?? null;
  return useQuery({
    queryKey: ['workflow', name, version],
    queryFn: ({ signal }) => api.workflow(name, version ?? 1, signal),
    enabled: version !== null,
    staleTime: Infinity,
  });
};

function TwoRuns({ a, b }: { readonly a: string; readonly b: string }): ReactNode {
  const [one, other] = [useRun(a), useRun(b)];
  const definitions = [useDefinition(one.data), useDefinition(other.data)] as const;
  for (const [name, run] of [
    ['A', one],
    ['B', other],
  ] as const)
    if (run.data === undefined && run.error !== null)
      return (
        <>
          <p>Run {name} cannot be read.</p>
          <Refusal error={run.error} scope="runs:read" onRetry={() => void run.refetch()} />
        </>
      );
  if (one.data === undefined || other.data === undefined) return <Loading />;
  const isSameWorkflow = one.data.workflowName === other.data.workflowName;
  const edges = definitions.flatMap(({ data }): readonly DrawnEdge[] =>
    data === undefined ? [] : definitionGraph(data.nodes, data.edges).edges,
  );
  return (
    <>
      <div className="columns">
        <Side name="A" run={one.data} />
        <Side name="B" run={other.data} />
      </div>
      {isSameWorkflow ? null : (
        <p className="notice wait">These are runs of two workflows. Nodes with the same id are compared.</p>
      )}
      <InputDifference a={one.data} b={other.data} />
      <section className="part" aria-label="Nodes">
        <h2>Nodes</h2>
        {definitions.some(({ isLoading }) => isLoading) ? (
          <Loading />
        ) : (
          <NodeTable nodes={compareNodes(one.data, other.data, edges)} />
        )}
      </section>
      <DefinitionDifference a={one.data} b={other.data} definitions={definitions} />
    </>
  );
}

interface DefinitionDifferenceProps {
  readonly a: Run;
  readonly b: Run;
  readonly definitions: readonly [ReturnType<typeof useDefinition>, ReturnType<typeof useDefinition>];
}

function DefinitionDifference({ a, b, definitions: [one, other] }: DefinitionDifferenceProps): ReactNode {
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
        <h2>{isSame ? `Definition v${a.workflowVersion}` : `Definition v${a.workflowVersion} → v${b.workflowVersion}`}</h2>
        {isSame ? null : (
          <button type="button" className="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Hide' : 'Show'}
          </button>
        )}
      </div>
      {isSame ? <p className="none dim">Both runs have the same version.</p> : null}
      {isSame || error === null ? null : <Refusal error={error} scope="workflows:read" />}
      {isSame || !isOpen || differences === undefined ? null : <DiffView differences={differences} />}
    </section>
  );
}
