/** `stepwell mcp`: an MCP server on stdin and stdout, for agents. https://modelcontextprotocol.io */
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';
import type { Action } from '../command.ts';
import { parseOptions } from '../parse-command-line.ts';
import { readVersion } from '../version.ts';
import { type ToolContext, toolsOf } from './tools.ts';

const instructions = `Stepwell runs durable workflows. A run is a list of events; a failed run can be rerun from any node.
To find out why a run failed or what it waits for, call explain_run first, then list_run_events. Validate a graph before you test it,
and pin the outputs of nodes that must not execute.`;

export function createMcpServer(context: ToolContext, options: { readonly allowsWrites: boolean }): McpServer {
  const server = new McpServer({ name: 'stepwell', version: readVersion() }, { instructions });
  for (const register of toolsOf(options)) register(server, context);
  return server;
}

const mcpOptions = z.object({ allowWrites: z.boolean().default(false) });

/** Serves one agent until it closes stdin. Everything but the protocol goes to stderr. */
export const serveMcp: Action = async (commandLine, context) => {
  const { allowWrites } = parseOptions(commandLine, mcpOptions);
  const client = await context.client();
  const server = createMcpServer({ client, now: context.now }, { allowsWrites: allowWrites });
  const transport = new StdioServerTransport();
  await new Promise<void>((resolve, reject) => {
    server.server.onclose = resolve;
    context.signal.addEventListener('abort', () => void server.close());
    server.connect(transport).catch(reject);
    context.log(`The MCP server waits for requests; its tools ${allowWrites ? 'can' : 'cannot'} change anything.`);
  });
  return { data: {}, text: '' };
};
