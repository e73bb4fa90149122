/** Two runs beside each other: what differs in their inputs, their paths, the outputs of their nodes, and their definitions. */
import type { ReactNode } from 'react';
import { useQuery } from '@tanstack/react-query';
import { api } from '../api.ts';
import { type DrawnEdge, definitionGraph } from '../layout/definition-graph.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { Loading } from '../primitives/loading.tsx';
import { Link, setSearch, useSearch } from '../router.tsx';
import { isOpenRun } from '../runs/open-run.ts';
import { ChooseRuns } from './choose-runs.tsx';
import { compareNodes } from './compare-runs.ts';
import { DefinitionDifference, isGraphRun, useDefinition } from './definition-difference.tsx';
import { InputDifference } from './input-difference.tsx';
import { NodeTable } from './node-table.tsx';
import { RunOnVersion } from './run-on-version.tsx';
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
          <ErrorText error={run.error} onRetry={() => void run.refetch()} />
          <ChooseRuns a={a} b={b} />
        </>
      );
  if (one.data === undefined || other.data === undefined) return <Loading />;
  const isSameWorkflow = one.data.workflowName === other.data.workflowName;
  const edges = [one.data, other.data].some(isGraphRun)
    ? definitions.flatMap(({ data }): readonly DrawnEdge[] =>
        data === undefined ? [] : definitionGraph(data.nodes, data.edges).edges,
      )
    : undefined;
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
          <NodeTable nodes={compareNodes(one.data, other.data, edges)} isHidden={one.data.payloadsHidden} />
        )}
      </section>
      <DefinitionDifference a={one.data} b={other.data} definitions={definitions} />
      <RunOnVersion a={one.data} b={other.data} />
    </>
  );
}
