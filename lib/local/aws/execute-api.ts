/** Posting to open sockets, asking about them and closing them: https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-how-to-call-websocket-api-connections.html */
import { arn } from '../place.ts';
import type { Connections } from '../sockets/connections.ts';
import { socketLimits } from '../sockets/limits.ts';
import type { SocketRoutes } from '../sockets/socket-routes.ts';
import { jsonResponse, unknownOperation, type Service, type WireRequest, type WireResponse } from './wire.ts';

const names: Readonly<Record<string, string>> = { POST: 'PostToConnection', GET: 'GetConnection', DELETE: 'DeleteConnection' };

const fault = (status: number, code: string, message: string): WireResponse => {
  const response = jsonResponse(status, { message }, 'application/json');
  return { ...response, headers: { ...response.headers, 'x-amzn-errortype': code } };
};
const done = (status: number): WireResponse => ({ status, headers: {}, body: Buffer.alloc(0) });
const gone = (): WireResponse => fault(410, 'GoneException', 'Gone');

export function executeApi(connections: Connections, { apiId, stage }: Pick<SocketRoutes, 'apiId' | 'stage'>): Service {
  const idIn = ({ path }: Pick<WireRequest, 'path'>): string | undefined => {
    const [, at, place, id, ...more] = path.split('/');
    return at === stage && place === '@connections' && id !== undefined && more.length === 0 ? decodeURIComponent(id) : undefined;
  };
  return {
    name: 'execute-api',
    read(request) {
      const id = idIn(request);
      const name = names[request.method];
      if (id === undefined || name === undefined) return unknownOperation(`${request.method} ${request.path}`);
      const resource = arn('execute-api', `${apiId}/${stage}/${request.method}/@connections/${id}`);
      return { name, input: { connectionId: id }, needs: [{ action: 'execute-api:ManageConnections', resource }] };
    },
    async answer(request, { name }) {
      const id = idIn(request) ?? '';
      if (name === 'DeleteConnection') return connections.close(id, 1_000) ? done(204) : gone();
      if (name === 'GetConnection') {
        const found = connections.find(id);
        if (found === undefined) return gone();
        const times = { connectedAt: found.openedAt.toISOString(), lastActiveAt: found.activeAt.toISOString() };
        return jsonResponse(200, times, 'application/json');
      }
      if (request.body.length > socketLimits.messageBytes) {
        return fault(413, 'PayloadTooLargeException', 'The data has exceeded the maximum size allowed.');
      }
      return (await connections.send(id, request.body.toString('utf8'))) ? done(200) : gone();
    },
    refuse: ({ status, code, message }) => fault(code === 'AccessDeniedException' ? 403 : status, code, message),
  };
}
