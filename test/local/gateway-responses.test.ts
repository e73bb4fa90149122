import { describe, expect, test } from 'vitest';
import { readGatewayResponses } from '../../lib/local/http/gateway-responses.ts';
import { templateOf } from './stacks.ts';

const response = (ResponseType: string, more: object = {}) => ({
  Type: 'AWS::ApiGateway::GatewayResponse',
  Properties: { ResponseType, RestApiId: 'api', ...more },
});

const responses = readGatewayResponses(
  templateOf({
    Missing: response('MISSING_AUTHENTICATION_TOKEN', {
      StatusCode: '404',
      ResponseTemplates: {
        'application/json': '{"code":"not_found","message":$context.error.messageString,"correlationId":"$context.requestId"}',
      },
      ResponseParameters: { 'gatewayresponse.header.x-id': 'context.requestId', 'gatewayresponse.header.Retry-After': "'1'" },
    }),
    Rest: response('DEFAULT_5XX', {
      ResponseTemplates: { 'application/json': '{"code":"internal","type":"$context.error.responseType"}' },
    }),
  }),
);
const context = { requestId: 'r-1' };

describe('gateway responses', () => {
  test('the type’s own template is rendered with its status and headers', () => {
    const { status, headers, body } = responses.render('MISSING_AUTHENTICATION_TOKEN', context);
    expect(status).toBe(404);
    expect(JSON.parse(body)).toEqual({ code: 'not_found', message: 'Missing Authentication Token', correlationId: 'r-1' });
    expect(headers).toMatchObject({ 'x-id': 'r-1', 'Retry-After': '1' });
  });

  test('without one, the default of its class is rendered with the status of its type', () => {
    expect(responses.render('INTEGRATION_TIMEOUT', context)).toMatchObject({
      status: 504,
      body: '{"code":"internal","type":"INTEGRATION_TIMEOUT"}',
    });
    expect(responses.render('DEFAULT_5XX', context).status).toBe(502);
  });

  test("without either, the gateway's default message is sent", () => {
    expect(responses.render('REQUEST_TOO_LARGE', context)).toMatchObject({ status: 413, body: '{"message":"Request Too Long"}' });
  });
});
