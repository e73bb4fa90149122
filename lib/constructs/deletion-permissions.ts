/** What those may do who delete runs: of tests that are stopped, and of workflows that are being deleted. */
import { runsTableKeys } from '../contract/environment.ts';
import { allow, ofPartitions } from './allow.ts';
import type { Permission } from './permissions.ts';
import { payloadPrefix } from './storage.ts';

export const deletionPermissions = {
  /**
   * What a run wrote, when the sweep was to look at it, and its large values. The keys do not tell which run may be deleted: a test
   * that is stopped, or one of a workflow that is being deleted. The two functions that have this look that up.
   */
  'delete runs': {
    environment: ['runsTable', 'bucket'],
    statements: (places) => [
      allow(['dynamodb:DeleteItem'], [places.storage.runsTable.tableArn], ofPartitions('*#run#*', 'due#*')),
      allow(['s3:DeleteObject'], [`${places.bucketArn}/${payloadPrefix}*`]),
      allow(['s3:ListBucket'], [places.bucketArn]),
    ],
  },
  /** The key of a test that was stopped is free again. */
  'release keys of tests': {
    environment: ['controlTable'],
    statements: ({ storage }) => [
      allow(['dynamodb:DeleteItem'], [storage.controlTable.tableArn], ofPartitions('*#idempotency#*')),
    ],
  },
  /**
   * Workflows that are being deleted: the list of the project's runs, how far it has come in `~deletions`, their runs in `<project>#<environment>#deletion#<name>`, their
   * versions in `…#workflow#<name>`, their names in `…#workflows`, and the entry of the audit trail.
   */
  'continue deletions': {
    environment: ['runsTable', 'controlTable'],
    statements: ({ storage }) => [
      allow(['dynamodb:Query'], [`${storage.runsTable.tableArn}/index/${runsTableKeys.byProject.name}`]),
      allow(['dynamodb:BatchGetItem'], [storage.runsTable.tableArn]),
      allow(
        ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem', 'dynamodb:Query'],
        [storage.controlTable.tableArn],
        ofPartitions('~deletions', '*#deletion#*'),
      ),
      allow(['dynamodb:DeleteItem', 'dynamodb:Query'], [storage.controlTable.tableArn], ofPartitions('*#workflow#*')),
      allow(['dynamodb:UpdateItem'], [storage.controlTable.tableArn], ofPartitions('*#workflows')),
      allow(['dynamodb:PutItem'], [storage.controlTable.tableArn], ofPartitions('*#audit#*')),
    ],
  },
} as const satisfies Record<string, Permission>;
