/** The services of AWS behind the gateway. */
import type { Emulators } from '../emulators/emulators.ts';
import { readTrust } from '../policy/roles.ts';
import type { SecretStore } from '../secret-store.ts';
import type { Connections } from '../sockets/connections.ts';
import type { SocketRoutes } from '../sockets/socket-routes.ts';
import type { Template } from '../template/template.ts';
import { dynamodb } from './dynamodb.ts';
import { executeApi } from './execute-api.ts';
import { lambda, type FindFunction } from './lambda.ts';
import type { Principals } from './principals.ts';
import { type ObjectEvents, s3 } from './s3.ts';
import { secretsManager } from './secrets.ts';
import { sqs } from './sqs.ts';
import { sts } from './sts.ts';
import type { Service } from './wire.ts';

export interface ServiceParts {
  readonly template: Template;
  readonly principals: Principals;
  readonly emulators: Emulators;
  readonly secrets: SecretStore;
  readonly find: FindFunction;
  readonly gatewayUrl: string;
  readonly schedules: Service;
  readonly events: { readonly service: Service; readonly objects: ObjectEvents };
  readonly connections: Connections;
  /** undefined where the template has no WebSocket API */
  readonly socketRoutes: SocketRoutes | undefined;
  readonly warn: (line: string) => void;
}

export const cloudServices = ({ template, principals, emulators, find, warn, ...parts }: ServiceParts): readonly Service[] => [
  dynamodb(emulators.dynamodb.forward),
  sqs(emulators.fauxqs.queues, parts.gatewayUrl),
  s3(emulators.fauxqs.bucket, parts.events.objects),
  parts.schedules,
  parts.events.service,
  secretsManager(parts.secrets, new Set(template.of('AWS::SecretsManager::Secret').map(({ ref }) => ref))),
  lambda(find, warn),
  sts(principals, readTrust(template)),
  ...(parts.socketRoutes === undefined ? [] : [executeApi(parts.connections, parts.socketRoutes)]),
];
