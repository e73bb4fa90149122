/** What those may do who delete runs: of tests that are stopped, and of workflows that are being deleted. */
import { runsTableKeys } from '../contract/environment.ts';
import { allow } from './allow.ts';
import type { Permission } from './permissions.ts';
import { payloadPrefix } from './storage.ts';

export const deletionPermissions = {
  /**
   * What a run wrote, when the sweep was to look at it, and its large values. The keys do not tell which run may be deleted: a test
   * that is stopped, or one of a workflow that is being deleted. The two functions that have this look that up.
   */
  'delete runs': {
    environment: ['runsTable', 'bucket'],
    records: { runs: { run: 'd', code: 'd', due: 'd' } },
    statements: (resources) => [
      allow(['s3:DeleteObject'], [`${resources.bucketArn}/${payloadPrefix}*`]),
      allow(['s3:ListBucket'], [resources.bucketArn]),
    ],
  },
  /** The key of a test that was stopped is free again. */
  'release idempotency keys of tests': { environment: ['controlTable'], records: { control: { idempotency: 'd' } } },
  /**
   * Workflows that are being deleted: the list of the project's runs, how far it has come, the runs that it has found, their versions,
   * their names, and the entry of the audit trail.
   */
  'continue deletions': {
    environment: ['runsTable', 'controlTable'],
    records: {
      runs: { run: 'b', code: 'b' },
      control: { deletions: 'gqpud', deletion: 'gqpud', workflow: 'qd', workflows: 'u', audit: 'p' },
    },
    statements: ({ storage }) => [
      allow(['dynamodb:Query'], [`${storage.runsTable.tableArn}/index/${runsTableKeys.byProject.name}`]),
    ],
  },
} as const satisfies Record<string, Permission>;
