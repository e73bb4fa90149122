/** The graph as one draws it: nodes are dragged, connected, selected and removed. The outline does the same without a pointer. */
import { type DragEvent, type ReactNode, type RefObject, useEffect, useMemo, useRef, useState } from 'react';
import {
  Background,
  type Connection,
  Controls,
  type Edge,
  type EdgeChange,
  MarkerType,
  MiniMap,
  type NodeChange,
  ReactFlow,
  type ReactFlowInstance,
  applyNodeChanges,
} from '@xyflow/react';
import { defined } from '../../base/defined.ts';
import { FarGraph, useFar } from '../graph/far-graph.tsx';
import type { FarNode } from '../graph/far-view.ts';
import { layered } from '../layout/layered.ts';
import { toneOf } from '../primitives/status.tsx';
import { handlesOf } from './catalogue.ts';
import * as commands from './commands.ts';
import type { EditorDocument } from './document.ts';
import type { PlacedFinding } from './findings.ts';
import { EditorNode, type EditorNodeShape } from './editor-node.tsx';
import type { NodeResults } from './test-run.ts';
import type { Editor } from './use-editor.ts';

export const dragType = 'application/x-stepwell-node';
const nodeTypes = { editor: EditorNode };
const fit = { maxZoom: 1, padding: 0.12 };
/** The size of a node with two handles, in pixels of the graph. */
const [nodeWidth, nodeHeight] = [190, 90];

interface CanvasProps {
  readonly editor: Editor;
  readonly results: NodeResults;
}

export function Canvas({ editor, results }: CanvasProps): ReactNode {
  const { document, findings, run } = editor;
  const flow = useRef<ReactFlowInstance<EditorNodeShape> | undefined>(undefined);
  const { nodes, setNodes } = useDrawnNodes(document, findings, results);
  const frame = useRef<HTMLDivElement>(null);
  const farNodes = nodes.map(farNodeOf);
  const far = useFar(farNodes, frame, flow);
  useReveal(flow, frame, nodes);
  const edges = useMemo(() => drawnEdges(document), [document]);
  const { onNodesChange, onEdgesChange, connect, reconnect, drop } = changesOf(editor, { nodes, setNodes, flow });
  return (
    <div className="canvas" ref={frame} onDrop={drop} onDragOver={(event) => event.preventDefault()}>
      <ReactFlow
        onInit={(instance) => {
          flow.current = instance;
          if (far.isFar) far.fit();
        }}
        nodes={far.isFar ? [] : nodes}
        edges={far.isFar ? [] : edges}
        onViewportChange={far.onMove}
        nodeTypes={nodeTypes}
        onNodesChange={onNodesChange}
        onEdgesChange={onEdgesChange}
        onConnect={connect}
        onReconnect={reconnect}
        isValidConnection={({ source, target }) => source !== target}
        onPaneClick={(event) => {
          const id = far.isFar ? far.nodeAt(event) : undefined;
          run((each) => (id === undefined ? commands.selectNothing(each) : commands.select(each, id)));
        }}
        fitView
        fitViewOptions={fit}
        minZoom={0.05}
        maxZoom={2}
        zoomOnDoubleClick={false}
        onlyRenderVisibleElements
        deleteKeyCode={null}
        connectionRadius={36}
        proOptions={{ hideAttribution: true }}
      >
        <Background gap={20} />
        <Controls showInteractive={false} fitViewOptions={fit} onFitView={far.fit} />
        {nodes.length > 30 && !far.isFar ? <MiniMap pannable zoomable /> : null}
        {far.isFar ? (
          <FarGraph
            nodes={farNodes}
            edges={edges.map(({ source, target, className }) => ({
              source,
              target,
              tone: className === 'on-error' ? 'bad' : 'taken',
            }))}
            label={`A graph of ${nodes.length} nodes. Zoom in to edit them here; the outline has each.`}
          />
        ) : null}
      </ReactFlow>
    </div>
  );
}

interface Drawn {
  readonly nodes: EditorNodeShape[];
  readonly setNodes: (nodes: EditorNodeShape[]) => void;
  readonly flow: RefObject<ReactFlowInstance<EditorNodeShape> | undefined>;
}

/** What a person changes in the drawing, as commands. */
function changesOf({ run }: Editor, { nodes, setNodes, flow }: Drawn) {
  const onNodesChange = (changes: NodeChange<EditorNodeShape>[]): void => {
    const changed = applyNodeChanges(changes, nodes);
    setNodes(changed);
    if (changes.some(({ type }) => type === 'select'))
      run((each) => commands.select(each, ...changed.flatMap(({ id, selected }) => (selected === true ? [id] : []))));
    // The arrow keys and the end of a drag; while one drags, only the drawing moves.
    if (changes.some((change) => change.type === 'position' && change.dragging !== true && change.position !== undefined))
      run((each) => commands.moveNodes(each, new Map(changed.map(({ id, position }) => [id, position]))), 'move');
  };
  const onEdgesChange = (changes: EdgeChange[]): void => {
    for (const change of changes)
      if (change.type === 'select' && change.selected) run((each) => commands.selectEdge(each, Number(change.id)));
  };
  const connect = ({ source, sourceHandle, target }: Connection): void =>
    run((each) => commands.connect(each, source, sourceHandle ?? 'output', target));
  const reconnect = ({ id }: Edge, { source, sourceHandle, target }: Connection): void =>
    run((each) => commands.reconnect(each, Number(id), { source, handle: sourceHandle ?? 'output', target }));
  const drop = (event: DragEvent): void => {
    const type = event.dataTransfer.getData(dragType);
    if (type === '' || flow.current === undefined) return;
    event.preventDefault();
    const at = flow.current.screenToFlowPosition({ x: event.clientX - 90, y: event.clientY - 20 });
    const others = new Map(nodes.map(({ id, position }) => [id, position]));
    run((each) => commands.addNode(commands.moveNodes(each, others), type, undefined, at));
  };
  return { onNodesChange, onEdgesChange, connect, reconnect, drop };
}

const farNodeOf = ({ id, position, selected, data }: EditorNodeShape): FarNode => ({
  id,
  ...position,
  label: data.label,
  tone: data.errors > 0 ? 'bad' : data.status === undefined ? 'idle' : toneOf(data.status),
  isSelected: selected === true,
});

/** Above this number of nodes, a selected node is shown where it is, instead of the whole graph. */
const smallGraph = 30;

/** Moves the view when the selected node is outside: it may be new, or a finding has led to it. */
function useReveal(
  flow: RefObject<ReactFlowInstance<EditorNodeShape> | undefined>,
  frame: RefObject<HTMLDivElement | null>,
  nodes: readonly EditorNodeShape[],
): void {
  const selected = nodes.filter((node) => node.selected);
  const [node] = selected;
  const key = selected.length === 1 ? node?.id : undefined;
  useEffect(() => {
    const { current } = flow;
    const size = frame.current?.getBoundingClientRect();
    if (key === undefined || node === undefined || current === undefined || size === undefined) return;
    const { x, y, zoom } = current.getViewport();
    const [left, top] = [node.position.x * zoom + x, node.position.y * zoom + y];
    const isShown = left >= 0 && top >= 0 && left + nodeWidth * zoom <= size.width && top + nodeHeight * zoom <= size.height;
    if (isShown) return;
    if (nodes.length <= smallGraph) void current.fitView(fit);
    else void current.setCenter(node.position.x + nodeWidth / 2, node.position.y + nodeHeight / 2, { zoom });
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- a node that one drags out of view stays there
  }, [key, nodes.length]);
}

/** The nodes as they are drawn. A node that is being dragged is ahead of the document. */
function useDrawnNodes(document: EditorDocument, findings: readonly PlacedFinding[], results: NodeResults) {
  const drawn = useMemo(() => drawnNodes(document, findings, results), [document, findings, results]);
  const [nodes, setNodes] = useState(drawn);
  useEffect(() => {
    // The sizes that the browser measured stay, so that a changed node does not disappear for a frame.
    setNodes((before) => {
      const measured = new Map(before.flatMap((node) => (node.measured === undefined ? [] : [[node.id, node.measured]])));
      return drawn.map((node) => ({ ...node, ...defined({ measured: measured.get(node.id) }) }));
    });
  }, [drawn]);
  return { nodes, setNodes };
}

function drawnNodes(
  { definition: { nodes, edges }, selection, pins }: EditorDocument,
  findings: readonly PlacedFinding[],
  results: NodeResults,
): EditorNodeShape[] {
  const isPlaced = nodes.every(({ position }) => position !== undefined);
  const layers = isPlaced ? undefined : layered(nodes, edges, commands.spacing);
  return nodes.map((node) => {
    const own = findings.filter(({ nodeId }) => nodeId === node.id);
    const errors = own.filter(({ severity }) => severity === 'error').length;
    const result = results.get(node.id);
    const label = node.label ?? node.id;
    return {
      id: node.id,
      type: 'editor',
      position: layers?.get(node.id) ?? node.position ?? { x: 0, y: 0 },
      selected: selection.nodes.includes(node.id),
      ariaLabel: [
        label,
        node.type,
        ...(errors === 0 ? [] : [`${errors} errors`]),
        ...(result === undefined ? [] : [result.status]),
      ].join(', '),
      data: {
        label,
        nodeType: node.type,
        handles: handlesOf(node, edges),
        hasInput: node.type !== 'start',
        isPinned: Object.hasOwn(pins, node.id),
        isDisabled: node.config['isDisabled'] === true,
        errors,
        warnings: own.length - errors,
        status: result?.status,
      },
    };
  });
}

const drawnEdges = ({ definition: { edges }, selection }: EditorDocument): Edge[] =>
  edges.map(({ source, target, sourceHandle, condition, targetParamLabel }, index) => {
    const handle = sourceHandle === undefined || sourceHandle === 'success' ? 'output' : sourceHandle;
    const label = [
      ...(condition === undefined
        ? []
        : ['value' in condition ? `${condition.type} ${JSON.stringify(condition.value)}` : condition.type]),
      ...(targetParamLabel === undefined ? [] : [`as ${targetParamLabel}`]),
    ].join(', ');
    return {
      id: String(index),
      source,
      target,
      sourceHandle: handle,
      selected: selection.edge === index,
      className: handle === 'error' ? 'on-error' : 'taken',
      markerEnd: { type: MarkerType.ArrowClosed, color: handle === 'error' ? 'var(--bad)' : 'var(--edge-taken)' },
      ariaLabel: `Edge from ${source} (${handle}) to ${target}`,
      ...(label === '' ? {} : { label }),
    };
  });
