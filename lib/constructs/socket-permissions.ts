/** What the functions of sockets may do beside what others may too. */
import { allow, ofPartitions } from './allow.ts';
import type { Permission } from './permissions.ts';

export const socketPermissions = {
  'send watches': {
    environment: ['watchQueueUrl'],
    statements: ({ queues }) => [allow(['sqs:SendMessage'], [queues.watches.queueArn])],
  },
  /** Open sockets and who watches what: partitions `~socket#<id>` and `<project>#<environment>#watch#<runId>`. */
  'keep sockets': {
    environment: ['controlTable'],
    statements: ({ storage }) => [
      allow(
        ['dynamodb:Query', 'dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem'],
        [storage.controlTable.tableArn],
        ofPartitions('~socket#*', '*#watch#*'),
      ),
    ],
  },
  /** A message about a watched run that nobody could work on: another speaker is asked for while somebody watches. */
  'replace speakers': {
    environment: ['controlTable'],
    statements: ({ storage }) => [
      allow(['dynamodb:Query', 'dynamodb:DeleteItem'], [storage.controlTable.tableArn], ofPartitions('*#watch#*')),
    ],
  },
  /** Keys and tickets are read, their use is noted, requests counted, and failures put into the trail. */
  'let sockets in': {
    environment: ['controlTable'],
    statements: ({ storage }) => [
      allow(['dynamodb:GetItem'], [storage.controlTable.tableArn], ofPartitions('~key#*', '~ticket#*')),
      allow(['dynamodb:UpdateItem'], [storage.controlTable.tableArn], ofPartitions('~key#*', '~ticket#*', '~rate#*')),
      allow(['dynamodb:PutItem'], [storage.controlTable.tableArn], ofPartitions('*#audit#*')),
    ],
  },
  /** Whether a key is still good. */
  'recheck keys': {
    environment: ['controlTable'],
    statements: ({ storage }) => [allow(['dynamodb:GetItem'], [storage.controlTable.tableArn], ofPartitions('~key#*'))],
  },
  /** Posting to the connections of this stage, and closing them. */
  'post to sockets': {
    environment: ['socketsUrl'],
    statements: ({ sockets }) =>
      sockets === undefined ? [] : [allow(['execute-api:ManageConnections'], sockets.connectionArns)],
  },
} as const satisfies Record<string, Permission>;
