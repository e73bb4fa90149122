/** The pages of the console: one row each. The header, the titles and the shortcuts come from this table. */
import { type ReactNode, lazy } from 'react';
import { Attention } from '../runs/attention.tsx';
import { RunList } from '../runs/run-list.tsx';
import { WorkflowList } from '../workflows/workflow-list.tsx';

const RunView = lazy(() => import('../run/run-page.tsx').then(({ RunView: component }) => ({ default: component })));
const WorkflowView = lazy(() =>
  import('../workflows/workflow-page.tsx').then(({ WorkflowView: component }) => ({ default: component })),
);
const ComparePage = lazy(() =>
  import('../compare/compare-page.tsx').then(({ ComparePage: component }) => ({ default: component })),
);
const ScheduleList = lazy(() =>
  import('../schedules/schedule-list.tsx').then(({ ScheduleList: component }) => ({ default: component })),
);
const SchedulePage = lazy(() =>
  import('../schedules/schedule-page.tsx').then(({ SchedulePage: component }) => ({ default: component })),
);
const DeploymentList = lazy(() =>
  import('../deployments/deployment-list.tsx').then(({ DeploymentList: component }) => ({ default: component })),
);
const SignalsPage = lazy(() =>
  import('../signals/signals-page.tsx').then(({ SignalsPage: component }) => ({ default: component })),
);
const LensList = lazy(() => import('../lenses/lens-list.tsx').then(({ LensList: component }) => ({ default: component })));
const LensPage = lazy(() => import('../lenses/lens-page.tsx').then(({ LensPage: component }) => ({ default: component })));
const QueryList = lazy(() => import('../queries/query-list.tsx').then(({ QueryList: component }) => ({ default: component })));
const QueryPage = lazy(() => import('../queries/query-page.tsx').then(({ QueryPage: component }) => ({ default: component })));
const EditorPage = lazy(() => import('../editor/editor-page.tsx').then(({ EditorPage: component }) => ({ default: component })));
const KeysPage = lazy(() => import('../access/keys-page.tsx').then(({ KeysPage: component }) => ({ default: component })));
const AuditPage = lazy(() => import('../access/audit-page.tsx').then(({ AuditPage: component }) => ({ default: component })));
const SettingsPage = lazy(() =>
  import('../access/settings-page.tsx').then(({ SettingsPage: component }) => ({ default: component })),
);
const EmbedsPage = lazy(() => import('../access/embeds-page.tsx').then(({ EmbedsPage: component }) => ({ default: component })));

interface Page {
  /** segments of the address below the console; `*` is a name or an id */
  readonly path: string;
  /** of the document and of the link in the header; a page with a name or an id has that as its title */
  readonly title: string;
  /** which part of the header leads to it; without one, another page does */
  readonly link?: 'bar' | 'menu';
  /** `g` and this letter lead to it */
  readonly letter?: string;
  /** @param id the segment that `*` stands for, or an empty text */
  readonly open: (id: string) => ReactNode;
}

export const pages: readonly Page[] = [
  { path: 'runs', title: 'Runs', link: 'bar', letter: 'r', open: () => <RunList /> },
  { path: 'runs/*', title: 'Run', open: (id) => <RunView key={id} runId={id} /> },
  { path: 'compare', title: 'Compare', open: () => <ComparePage /> },
  { path: 'attention', title: 'Attention', link: 'bar', letter: 'a', open: () => <Attention /> },
  { path: 'workflows', title: 'Workflows', link: 'bar', letter: 'w', open: () => <WorkflowList /> },
  { path: 'workflows/*', title: 'Workflow', open: (name) => <WorkflowView key={name} name={name} /> },
  { path: 'workflows/*/edit', title: 'Editor', open: (name) => <EditorPage key={name} name={name} /> },
  { path: 'schedules', title: 'Schedules', link: 'menu', letter: 's', open: () => <ScheduleList /> },
  { path: 'schedules/*', title: 'Schedule', open: (id) => <SchedulePage key={id} scheduleId={id} /> },
  { path: 'deployments', title: 'Deployments', link: 'menu', letter: 'd', open: () => <DeploymentList /> },
  { path: 'signals', title: 'Signals', link: 'menu', letter: 'i', open: () => <SignalsPage /> },
  { path: 'lenses', title: 'Lenses', link: 'menu', letter: 'l', open: () => <LensList /> },
  { path: 'lenses/*', title: 'Lens', open: (name) => <LensPage key={name} name={name} /> },
  { path: 'queries', title: 'Queries', link: 'menu', letter: 'q', open: () => <QueryList /> },
  { path: 'queries/*', title: 'Query', open: (name) => <QueryPage key={name} name={name} /> },
  { path: 'keys', title: 'Keys', link: 'menu', letter: 'k', open: () => <KeysPage /> },
  { path: 'audit', title: 'Audit trail', link: 'menu', letter: 't', open: () => <AuditPage /> },
  { path: 'widgets', title: 'Widgets', link: 'menu', letter: 'o', open: () => <EmbedsPage /> },
  { path: 'settings', title: 'Settings', link: 'menu', letter: 'e', open: () => <SettingsPage /> },
];

/** The page of an address, and what `*` stands for in it. */
export function pageAt(segments: readonly string[]): { readonly page: Page; readonly id: string } | undefined {
  const at = segments.length === 0 ? ['runs'] : segments;
  for (const page of pages) {
    const parts = page.path.split('/');
    if (parts.length !== at.length || !parts.every((part, index) => part === '*' || part === at[index])) continue;
    return { page, id: at[parts.indexOf('*')] ?? '' };
  }
  return undefined;
}
