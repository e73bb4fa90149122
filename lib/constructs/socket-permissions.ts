/** What the functions of sockets may do beside what others may too. */
import { allow } from './allow.ts';
import type { Permission } from './permissions.ts';

export const socketPermissions = {
  'send watches': {
    environment: ['watchQueueUrl'],
    statements: ({ queues }) => [allow(['sqs:SendMessage'], [queues.watches.queueArn])],
  },
  /** Open sockets and who watches what. */
  'manage sockets': { environment: ['controlTable'], records: { control: { socket: 'qpud', watch: 'qpud' } } },
  /** A message about a watched run that nobody could work on: another speaker is asked for while somebody watches. */
  'replace broadcasters': { environment: ['controlTable'], records: { control: { watch: 'qd' } } },
  /** Whether a key is still good. */
  'recheck keys': { environment: ['controlTable'], records: { control: { key: 'g' } } },
  /** Posting to the connections of this stage, and closing them. */
  'post to sockets': {
    environment: ['socketsUrl'],
    statements: ({ sockets }) =>
      sockets === undefined ? [] : [allow(['execute-api:ManageConnections'], sockets.connectionArns)],
  },
} as const satisfies Record<string, Permission>;
