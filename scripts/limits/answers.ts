/** Limits of what the API responds with: pages of lists, answers about a run, views. */
import { commitsFoundInThreeReads } from '../../lib/service/run-log/find-newest-commits.ts';
import { viewLimitBytes } from '../../lib/api/run-routes.ts';
import { eventPageSize, pageSize } from '../../lib/api/schemas/parts.ts';
import { runsPerPage, timelinePageSize } from '../../lib/api/schemas/runs.ts';
import { entriesPerPage, maxPages } from '../../lib/service/access/list-audit.ts';
import { maxShownAttempts } from '../../lib/service/runs/get-run-node.ts';
import { maxShownIterationNodes, maxShownSteps, maxValuesBytes } from '../../lib/service/runs/get-run.ts';
import { maxFailedItems } from '../../lib/engine/log/node-state.ts';
import { maxPageBytes } from '../../lib/service/runs/list-events.ts';
import { maxRowsRead } from '../../lib/service/runs/list-runs.ts';
import { maxRunsWithWaits, maxShownWaits } from '../../lib/service/runs/read-waits.ts';
import { maxListedBytes } from '../../lib/api/schemas/workflows.ts';
import { maxCountedRuns } from '../../lib/service/deployments/get-deployments.ts';
import { maxTemplates, maxViewBytes } from '../../lib/service/runs/view-run.ts';
import { type LimitSection, bytes, count, phrase } from './limit.ts';

export const answers: LimitSection = {
  title: 'Lists and answers',
  per: 'response',
  limits: [
    {
      name: 'Page of workflows, lenses or queries',
      value: phrase`${count(pageSize.standard)}, at most ${count(pageSize.max)}`,
      atLimit: 'a larger `limit` is refused with `invalid_request`; continue with `cursor`',
      definedIn: ['lib/api/schemas/parts.ts'],
    },
    {
      name: 'Page of runs',
      value: phrase`${count(runsPerPage)}, at most ${count(pageSize.max)}`,
      atLimit: 'a larger `limit` is refused with `invalid_request`; continue with `cursor`',
      definedIn: ['lib/api/schemas/runs.ts', 'lib/api/schemas/parts.ts'],
    },
    {
      name: 'Page of runs with their waits',
      value: count(maxRunsWithWaits),
      atLimit: 'a page is shorter than its `limit`; continue with `cursor`',
      definedIn: ['lib/service/runs/read-waits.ts'],
    },
    {
      name: 'Waits of a run in a list',
      value: count(maxShownWaits),
      atLimit: 'the list has the first ones, and the number of the others in `waitsOmitted`',
      definedIn: ['lib/service/runs/read-waits.ts'],
    },
    {
      name: 'Page of schedules',
      value: phrase`${count(pageSize.standard)}, at most ${count(pageSize.max)}`,
      atLimit: 'a larger `limit` is refused with `invalid_request`; continue with `cursor`',
      definedIn: ['lib/api/schemas/parts.ts'],
    },
    {
      name: 'Page of keys',
      value: phrase`${count(pageSize.standard)}, at most ${count(pageSize.max)}`,
      atLimit: 'a larger `limit` is refused with `invalid_request`; continue with `cursor`',
      definedIn: ['lib/api/schemas/parts.ts'],
    },
    {
      name: 'Page of the audit trail',
      value: phrase`${count(pageSize.standard)}, at most ${count(pageSize.max)}`,
      atLimit: 'a larger `limit` is refused with `invalid_request`; continue with `cursor`',
      definedIn: ['lib/api/schemas/parts.ts'],
    },
    {
      name: 'Entries searched for one page',
      value: count(maxPages * entriesPerPage),
      atLimit: 'the page ends early, with `hasMore`, if filters match few entries',
      definedIn: ['lib/service/access/list-audit.ts'],
    },
    {
      name: 'Page of events',
      value: phrase`${count(eventPageSize.standard)}, at most ${count(eventPageSize.max)}`,
      atLimit: 'a larger `limit` is refused with `invalid_request`; continue with `after`',
      definedIn: ['lib/api/schemas/parts.ts'],
    },
    {
      name: 'Page of tags',
      value: phrase`${count(eventPageSize.standard)}, at most ${count(eventPageSize.max)}`,
      atLimit: 'a larger `limit` is refused with `invalid_request`; continue with `after`',
      definedIn: ['lib/api/schemas/parts.ts'],
    },
    {
      name: 'Page of events, in bytes',
      value: bytes(maxPageBytes),
      atLimit: 'the page ends early, with `hasMore`',
      definedIn: ['lib/service/runs/list-events.ts'],
    },
    {
      name: 'Runs read for a page of a list',
      value: count(maxRowsRead),
      atLimit: 'a page can be short or empty although more runs follow; continue with its cursor',
      definedIn: ['lib/service/runs/list-runs.ts'],
    },
    {
      name: 'Commits found in three reads',
      value: count(commitsFoundInThreeReads),
      atLimit:
        'a list of runs that are further ahead of their heads needs more reads ([why](decisions/lists-read-in-batches.md))',
      definedIn: ['lib/service/run-log/find-newest-commits.ts'],
    },
    {
      name: 'Values in the answer about a run',
      value: bytes(maxValuesBytes),
      atLimit: 'Stepwell omits further values; `outputOmitted` has their size',
      definedIn: ['lib/service/runs/get-run.ts'],
    },
    {
      name: 'Nodes of passes in one answer',
      value: count(maxShownIterationNodes),
      atLimit: 'the response shows the nodes of the iterations that began first',
      definedIn: ['lib/service/runs/get-run.ts'],
    },
    {
      name: 'Steps of code in one answer',
      value: count(maxShownSteps),
      atLimit: 'the response shows the open steps and the most recent ones; `nodesOmitted` counts the others',
      definedIn: ['lib/service/runs/get-run.ts'],
    },
    {
      name: 'Page of a timeline',
      value: phrase`${count(timelinePageSize.standard)} rows, at most ${count(timelinePageSize.max)}`,
      atLimit:
        'a larger `limit` is refused with `invalid_request`; continue with `cursor`. Rows that one event changed are not split',
      definedIn: ['lib/api/schemas/runs.ts'],
    },
    {
      name: 'Attempts of a node in one answer',
      value: count(maxShownAttempts),
      atLimit: 'the response shows the latest ones; `attemptsOmitted` counts the others',
      definedIn: ['lib/service/runs/get-run-node.ts'],
    },
    {
      name: 'Failed items of a loop in one answer',
      value: count(maxFailedItems),
      atLimit: 'the response names the first ones; the events contain all of them',
      definedIn: ['lib/engine/log/node-state.ts'],
    },
    {
      name: "Body of a widget's configuration",
      value: bytes(viewLimitBytes),
      per: 'request',
      atLimit: '`payload_too_large` (413)',
      definedIn: ['lib/api/run-routes.ts'],
    },
    {
      name: 'Templates of a view',
      value: count(maxTemplates),
      atLimit: '`invalid_request` (400), `too_many_templates`',
      definedIn: ['lib/service/runs/view-run.ts'],
    },
    {
      name: 'Page of workflows with their definitions',
      value: phrase`${bytes(maxListedBytes)}, or one definition`,
      atLimit: 'the page ends early; `cursor` continues the list',
      definedIn: ['lib/api/schemas/workflows.ts'],
    },
    {
      name: 'Open runs of a deployment in a list',
      value: count(maxCountedRuns),
      per: 'deployment',
      atLimit: '`openRuns` counts no further',
      definedIn: ['lib/service/deployments/get-deployments.ts'],
    },
    {
      name: 'A view, resolved',
      value: bytes(maxViewBytes),
      atLimit: '`invalid_request` (400), `view_too_large`',
      definedIn: ['lib/service/runs/view-run.ts'],
    },
  ],
};
