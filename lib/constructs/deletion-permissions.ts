/** Permissions of the functions that delete runs: of stopped test runs and of deleted workflows. */
import { runsTableKeys } from '../contract/environment.ts';
import { allow } from './allow.ts';
import type { Permission } from './permissions.ts';
import { payloadPrefix } from './storage.ts';

export const deletionPermissions = {
  /**
   * The records, due items and payloads of a run. IAM cannot tell from a key whether a run may be deleted, so the two functions with
   * this permission check that the run is a stopped test run or belongs to a workflow in deletion.
   */
  'delete runs': {
    environment: ['runsTable', 'bucket'],
    records: { runs: { run: 'd', code: 'd', due: 'd' } },
    statements: (resources) => [
      allow(['s3:DeleteObject'], [`${resources.bucketArn}/${payloadPrefix}*`]),
      allow(['s3:ListBucket'], [resources.bucketArn]),
    ],
  },
  /** Releases the idempotency key of a stopped test run. */
  'release idempotency keys of tests': { environment: ['controlTable'], records: { control: { idempotency: 'd' } } },
  /** Deletes workflows: lists the project's runs, records progress and found runs, deletes versions and names, writes the audit entry. */
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
