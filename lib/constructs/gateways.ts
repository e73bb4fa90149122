/** The APIs of an installation: the REST API, the start API and the stage of the WebSocket API. */
import type * as kms from 'aws-cdk-lib/aws-kms';
import type * as logs from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { defaultConcurrency } from '../contract/concurrency.ts';
import type { Functions } from './functions.ts';
import { type Domain, HttpApi } from './http-api.ts';
import type { SocketApi } from './socket-api.ts';
import { StartApi } from './start-api.ts';

export interface GatewayProps {
  readonly domain?: Domain;
  /** A regional web ACL for the API's stage. Default: none. */
  readonly webAclArn?: string;
  /** Rate limit of the API in requests a second, 1 to 10000, and its burst limit. Default: 1000 and 2000. */
  readonly requestsPerSecond?: number;
  readonly requestBurst?: number;
  /**
   * Whether to create the start API: an HTTP API for starts, signals and reads of a run, at $1.00 a million requests. A web ACL cannot
   * protect it, and `domain` does not name it. Default: true, but false if `domain` or `webAclArn` is set.
   */
  readonly startApi?: boolean;
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

interface Gateways {
  /** undefined if the api function is not bundled */
  readonly httpApi: HttpApi | undefined;
  /** undefined if the setting turns it off, or the api function is not bundled */
  readonly startApi: StartApi | undefined;
}

/** An owner who closed the default address of the API, or attached a web ACL, must ask for an address that has neither. */
export const hasStartApi = ({ startApi, domain, webAclArn }: GatewayProps): boolean =>
  startApi ?? (domain === undefined && webAclArn === undefined);

/** Creates the APIs directly in `scope`, and adds the stage of the WebSocket API. */
export function createGateways(scope: Construct, props: GatewaysProps): Gateways {
  const { functions, encryptionKey, logRetention } = props;
  const rates = {
    requestsPerSecond: props.requestsPerSecond ?? defaultConcurrency.requestsPerSecond,
    requestBurst: props.requestBurst ?? defaultConcurrency.requestBurst,
  };
  const api = functions.get('api');
  const startApi =
    api === undefined || !hasStartApi(props)
      ? undefined
      : new StartApi(scope, 'StartApi', { ...rates, encryptionKey, logRetention, api: api.lambda });
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
  return { httpApi, startApi };
}
