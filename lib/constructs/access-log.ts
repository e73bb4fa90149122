import * as apigateway from 'aws-cdk-lib/aws-apigateway';

/** Access log fields. The path is left out because it can contain a token; `resourcePath` names the route. */
export function accessLogFormat(): apigateway.AccessLogFormat {
  const { AccessLogField: field } = apigateway;
  return apigateway.AccessLogFormat.custom(
    JSON.stringify({
      requestId: field.contextRequestId(),
      at: field.contextRequestTimeEpoch(),
      ip: field.contextIdentitySourceIp(),
      userAgent: field.contextIdentityUserAgent(),
      method: field.contextHttpMethod(),
      resourcePath: field.contextResourcePath(),
      status: field.contextStatus(),
      bytes: field.contextResponseLength(),
      latencyMs: field.contextResponseLatency(),
      integrationLatencyMs: field.contextIntegrationLatency(),
      gatewayResponseType: field.contextErrorResponseType(),
    }),
  );
}
