/** The graph that the run had, coloured by what happened: nodes by status, edges by whether they were taken. */
import { type ReactNode, useMemo } from 'react';
import { useQuery } from '@tanstack/react-query';
import { type Run, type RunNode, api } from '../api.ts';
import { ReadOnlyGraph } from '../graph/read-only-graph.tsx';
import { type DrawnGraph, definitionGraph } from '../layout/definition-graph.ts';
import { layered } from '../layout/layered.ts';
import { durationText } from '../primitives/duration.ts';
import { ErrorText } from '../primitives/error-text.tsx';
import { Loading } from '../primitives/loading.tsx';
import { wasTaken } from './edges-taken.ts';

interface RunGraphProps {
  readonly run: Run;
  readonly selected: string | undefined;
  readonly onSelect: (nodeId: string) => void;
}

export function RunGraph({ run, selected, onSelect }: RunGraphProps): ReactNode {
  const workflow = useQuery({
    queryKey: ['definition', run.runId],
    queryFn: ({ signal }) => api.runDefinition(run.runId, signal),
    // The graph of a run never changes.
    staleTime: Number.POSITIVE_INFINITY,
  });
  const { data } = workflow;
  const graph = useMemo(() => (data === undefined ? undefined : definitionGraph(data.nodes, data.edges)), [data]);
  if (graph !== undefined) return <Canvas graph={graph} run={run} selected={selected} onSelect={onSelect} />;
  if (workflow.error === null) return <Loading />;
  return <ErrorText error={workflow.error} onRetry={() => void workflow.refetch()} />;
}

interface CanvasProps extends RunGraphProps {
  readonly graph: DrawnGraph;
}

function Canvas({ graph, run, selected, onSelect }: CanvasProps): ReactNode {
  const positions = useMemo(() => layered(graph.nodes, graph.edges), [graph]);
  const states = new Map(run.nodes.filter(({ iteration }) => iteration === undefined).map((node) => [node.nodeId, node]));
  return (
    <ReadOnlyGraph
      nodes={graph.nodes}
      edges={graph.edges}
      positions={positions}
      selected={selected}
      onSelect={onSelect}
      reachedBy={(id) => ({ status: states.get(id)?.status ?? 'pending', detail: detailOf(states.get(id)) })}
      isTaken={({ source, target, handle }) => wasTaken(states.get(source), states.get(target), handle)}
    />
  );
}

const detailOf = (node: RunNode | undefined): string => {
  if (node === undefined) return '';
  const attempts = node.attempt > 1 ? [`attempt ${node.attempt}`] : [];
  const items = node.iterations === undefined ? [] : [`${node.iterations.ended}/${node.iterations.items}`];
  const took = node.durationMs === undefined ? [] : [durationText(node.durationMs)];
  return [...attempts, ...items, ...took].join(', ');
};
