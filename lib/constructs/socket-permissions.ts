/** Permissions that only the WebSocket functions need. */
import { allow } from './allow.ts';
import type { Permission } from './permissions.ts';

export const socketPermissions = {
  'send watches': {
    environment: ['watchQueueUrl'],
    statements: ({ queues }) => [allow(['sqs:SendMessage'], [queues.watches.queueArn])],
  },
  /** Open connections and their memberships. */
  'manage sockets': { environment: ['controlTable'], records: { control: { socket: 'qpud', watch: 'qpud' } } },
  /** After a dead letter of a watched run: requests another broadcaster if the run still has watchers. */
  'replace broadcasters': { environment: ['controlTable'], records: { control: { watch: 'qd' } } },
  /** Checks that a key is still valid. */
  'recheck keys': { environment: ['controlTable'], records: { control: { key: 'g' } } },
  /** Posts to the stage's connections and closes them. */
  'post to sockets': {
    environment: ['socketsUrl'],
    statements: ({ sockets }) =>
      sockets === undefined ? [] : [allow(['execute-api:ManageConnections'], sockets.connectionArns)],
  },
} as const satisfies Record<string, Permission>;
