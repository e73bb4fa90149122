/** The two views of a run's timeline, which is read when one of them opens. */
import type { ReactNode } from 'react';
import type { Run } from '../api.ts';
import { isOpenRun } from '../runs/open-run.ts';
import { IterationGrid } from './iteration-grid.tsx';
import type { RunEvents } from './run-events.ts';
import { useTimeline } from './use-timeline.ts';
import { Waterfall } from './waterfall.tsx';

interface TimelineViewProps {
  readonly tab: 'Waterfall' | 'Iterations';
  readonly run: Run;
  readonly reader: RunEvents;
  readonly version: number;
  readonly iteration: string | undefined;
  readonly onSelect: (nodeId: string, iteration?: string) => void;
}

export function TimelineView({ tab, run, reader, version, iteration, onSelect }: TimelineViewProps): ReactNode {
  const timeline = useTimeline(run, reader, version);
  if (tab === 'Waterfall') return <Waterfall run={run} timeline={timeline} onSelect={onSelect} />;
  return <IterationGrid timeline={timeline} hasEnded={!isOpenRun(run)} selected={iteration} onSelect={onSelect} />;
}
