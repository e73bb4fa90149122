/** The APIs of an installation: the HTTP API and the stage of the WebSocket API. */
import type * as kms from 'aws-cdk-lib/aws-kms';
import type * as logs from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { defaultConcurrency } from '../contract/concurrency.ts';
import type { Functions } from './functions.ts';
import { type Domain, HttpApi } from './http-api.ts';
import type { SocketApi } from './socket-api.ts';

export interface GatewayProps {
  readonly domain?: Domain;
  /** A regional web ACL for the API's stage. Default: none. */
  readonly webAclArn?: string;
  /** Rate limit of the API in requests a second, 1 to 10000, and its burst limit. Default: 1000 and 2000. */
  readonly requestsPerSecond?: number;
  readonly requestBurst?: number;
  /** Whether to set the account's role for API Gateway logs. Default: true; use false if the account has one. */
  readonly setsAccountLogRole?: boolean;
}

interface GatewaysProps extends GatewayProps {
  readonly functions: Functions;
  readonly sockets: SocketApi | undefined;
  /** origins of web pages that may call the API; default: none */
  readonly corsOrigins?: readonly string[];
  readonly encryptionKey: kms.IKey | undefined;
  readonly logRetention: logs.RetentionDays;
}

/** Creates the HTTP API directly in `scope`, and adds the stage of the WebSocket API. Undefined if the api function is not bundled. */
export function createGateways(scope: Construct, props: GatewaysProps): HttpApi | undefined {
  const { functions, encryptionKey, logRetention } = props;
  const rates = {
    requestsPerSecond: props.requestsPerSecond ?? defaultConcurrency.requestsPerSecond,
    requestBurst: props.requestBurst ?? defaultConcurrency.requestBurst,
  };
  const api = functions.get('api');
  const httpApi =
    api === undefined
      ? undefined
      : new HttpApi(scope, 'HttpApi', {
          ...rates,
          encryptionKey,
          logRetention,
          api: api.lambda,
          events: functions.get('events')?.lambda,
          functionFor: (name) => functions.get(name)?.lambda,
          corsOrigins: props.corsOrigins ?? [],
          domain: props.domain,
          webAclArn: props.webAclArn,
          setsAccountLogRole: props.setsAccountLogRole ?? true,
        });
  const socketFunction = functions.get('sockets')?.lambda;
  if (socketFunction !== undefined) {
    props.sockets?.addStage({ ...rates, encryptionKey, logRetention, socketFunction, dependsOn: httpApi?.restApi });
  }
  return httpApi;
}
