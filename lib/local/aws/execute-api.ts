/** Posts to open sockets, describes them and closes them: https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-how-to-call-websocket-api-connections.html */
import { arn } from '../aws-environment.ts';
import type { Connections } from '../sockets/connections.ts';
import { socketLimits } from '../limits.ts';
import type { SocketRoutes } from '../sockets/socket-routes.ts';
import { jsonResponse, unknownOperation, type Service, type WireRequest, type WireResponse } from './wire.ts';

const names: Readonly<Record<string, string>> = { POST: 'PostToConnection', GET: 'GetConnection', DELETE: 'DeleteConnection' };

const errorResponse = (status: number, code: string, message: string): WireResponse => {
  const response = jsonResponse(status, { message }, 'application/json');
  return { ...response, headers: { ...response.headers, 'x-amzn-errortype': code } };
};
const emptyResponse = (status: number): WireResponse => ({ status, headers: {}, body: Buffer.alloc(0) });
const goneResponse = (): WireResponse => errorResponse(410, 'GoneException', 'Gone');

export function executeApi(connections: Connections, { apiId, stage }: Pick<SocketRoutes, 'apiId' | 'stage'>): Service {
  const connectionIdIn = ({ path }: Pick<WireRequest, 'path'>): string | undefined => {
    const [, stageName, marker, id, ...more] = path.split('/');
    return stageName === stage && marker === '@connections' && id !== undefined && more.length === 0
      ? decodeURIComponent(id)
      : undefined;
  };
  return {
    name: 'execute-api',
    parse(request) {
      const id = connectionIdIn(request);
      const name = names[request.method];
      if (id === undefined || name === undefined) return unknownOperation(`${request.method} ${request.path}`);
      const resource = arn('execute-api', `${apiId}/${stage}/${request.method}/@connections/${id}`);
      return { name, input: { connectionId: id }, requiredPermissions: [{ action: 'execute-api:ManageConnections', resource }] };
    },
    async handle(request, { name }) {
      const id = connectionIdIn(request) ?? '';
      if (name === 'DeleteConnection') return connections.close(id, 1_000) ? emptyResponse(204) : goneResponse();
      if (name === 'GetConnection') {
        const connection = connections.find(id);
        if (connection === undefined) return goneResponse();
        const times = { connectedAt: connection.openedAt.toISOString(), lastActiveAt: connection.activeAt.toISOString() };
        return jsonResponse(200, times, 'application/json');
      }
      if (request.body.length > socketLimits.messageBytes) {
        return errorResponse(413, 'PayloadTooLargeException', 'The data has exceeded the maximum size allowed.');
      }
      return (await connections.send(id, request.body.toString('utf8'))) ? emptyResponse(200) : goneResponse();
    },
    toErrorResponse: ({ status, code, message }) => errorResponse(code === 'AccessDeniedException' ? 403 : status, code, message),
  };
}
