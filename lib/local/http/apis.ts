/** The listeners of the cloud: the gateway to AWS's services, and the REST API, the HTTP API and the WebSocket API of the template. */
import * as z from 'zod';
import { environmentNames } from '../../contract/environment.ts';
import { type Gateway, openGateway } from '../aws/gateway.ts';
import type { FindFunction } from '../aws/lambda.ts';
import type { Recorder } from '../recorder.ts';
import { readSocketRoutes, type SocketRoutes } from '../sockets/socket-routes.ts';
import { openSocketServer, type SocketServer } from '../sockets/socket-server.ts';
import type { Template } from '../template/template.ts';
import { readGatewayResponses } from './gateway-responses.ts';
import { openApiServer } from './api-server.ts';
import { httpApiListener, startApiPath } from './http-api.ts';
import { type HttpRoutes, readHttpRoutes } from './http-routes.ts';
import { restApiListener } from './rest-api.ts';
import { readRoutes, type Routes } from './routes.ts';

/** The origins of the setting `corsOrigins`, read from the functions' variables in the template. */
const environment = z.looseObject({
  Variables: z.looseObject({ [environmentNames.corsOrigins]: z.string().default('') }),
});

function corsOriginsOf(template: Template): readonly string[] {
  const origins = template.of('AWS::Lambda::Function').flatMap(({ properties }) => {
    const { data } = environment.safeParse(properties['Environment']);
    return data?.Variables[environmentNames.corsOrigins]?.split(',') ?? [];
  });
  return [...new Set(origins)].filter((origin) => origin !== '');
}

export interface Listeners {
  readonly gateway: Gateway;
  readonly socketServer: SocketServer;
}

/** Opens the listeners whose URLs the template contains. @param port the first port to try for the REST API; 0: any free one */
export async function openListeners(port: number, onOpened: (close: () => Promise<void>) => void): Promise<Listeners> {
  const gateway = await openGateway();
  onOpened(() => gateway.close());
  const socketServer = await openSocketServer(gateway.listener, port === 0 ? 0 : port + 1);
  onOpened(() => socketServer.close());
  return { gateway, socketServer };
}

export interface ApiRoutes {
  /** undefined where the template has no REST API */
  readonly rest: Routes | undefined;
  /** undefined where the template has no HTTP API */
  readonly http: HttpRoutes | undefined;
  /** undefined where the template has no WebSocket API */
  readonly sockets: SocketRoutes | undefined;
}

export const readApiRoutes = (template: Template): ApiRoutes => ({
  sockets: readSocketRoutes(template),
  rest: readRoutes(template),
  http: readHttpRoutes(template),
});

interface ApiParts {
  readonly template: Template;
  readonly find: FindFunction;
  readonly recorder: Recorder;
  readonly routes: ApiRoutes;
  readonly socketServer: SocketServer;
  /** the first port to try for the API; 0: any free one */
  readonly port: number;
  /** origins of other pages that may use the API and open sockets */
  readonly origins: readonly string[];
  readonly warn: (line: string) => void;
}

export interface ApiAddresses {
  /** of the REST API; undefined where the template has none */
  readonly url: string | undefined;
  /** of the HTTP API, for starts; undefined where the template has none */
  readonly startUrl: string | undefined;
  /** of the WebSocket API; undefined where the template has none */
  readonly socketUrl: string | undefined;
}

interface Apis {
  readonly addresses: ApiAddresses;
  close(): Promise<void>;
}

export async function openApis({ template, find, routes, socketServer, ...parts }: ApiParts): Promise<Apis> {
  const { recorder, port, warn } = parts;
  const { rest, http, sockets } = routes;
  const configuredOrigins = [...parts.origins, ...corsOriginsOf(template)];
  const responses = readGatewayResponses(template);
  const shared = { functionOf: find, recorder, warn };
  const listeners = {
    rest: rest === undefined ? undefined : restApiListener({ ...shared, routes: rest, responses }),
    http: http === undefined ? undefined : httpApiListener({ ...shared, routes: http }),
  };
  const api = await openApiServer(listeners, configuredOrigins, port);
  // A page's origin has the API's port; the socket server serves no pages.
  const pages = { ports: api === undefined ? [] : [api.port], configuredOrigins };
  if (sockets !== undefined) socketServer.mount({ routes: sockets, find, origins: pages, warn });
  return {
    addresses: {
      url: rest === undefined ? undefined : api?.url,
      startUrl: http === undefined || api === undefined ? undefined : `${api.url}${startApiPath}`,
      socketUrl: sockets === undefined ? undefined : `${socketServer.url}/${sockets.stage}`,
    },
    close: async () => api?.close(1_000),
  };
}
