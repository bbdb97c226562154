import type { Answer } from '../../../pool/answer.js';
import { fieldName } from '../../../schemas/field-problem.js';
import { readUtf8 } from '../../../schemas/input/parse.js';
import { GatewayError, inputError } from '../../errors.js';
import {
  type BodyWatch,
  bodyTooLarge,
  createGrowingBuffer,
  fileType,
  type GrowingBuffer,
  meterBody,
  readBytes,
  requirePlain,
} from '../../http/body.js';
import type { InboundBudget } from '../../http/inbound-budget.js';
import { createPartNames, type MultipartLimits, type Parts, readParts } from '../../http/multipart.js';
import type { PartHeader } from '../../http/multipart-parser.js';
import { receive } from '../../pipeline/read-input.js';
import type { CallContext, Caller, HttpCall, Stage } from '../../pipeline/stage.js';
import { mostItems } from '../model.js';
import { type RequestedFile, type RequestedJob, readService, readWebhookField } from './fields.js';
import { createYieldToEventLoop, readJobJson, type YieldToEventLoop } from './read-json.js';

const json = 'application/json';
const multipart = 'multipart/form-data';
const wanted = { message: 'Send application/json or multipart/form-data, not compressed.' };

/** What is asked for, and what gives the event loop back while that is worked on. */
export interface RequestFound {
  requested: RequestedJob;
  yieldToEventLoop: YieldToEventLoop;
}

/** Reads the body that asks for a job. Its bytes are held against the tenant until the job has been made. */
export function readRequest(
  inboundBudget: InboundBudget,
  limits: JobPartLimits,
): Stage<HttpCall & { caller: Caller }, RequestFound> {
  const { maxJobBytes } = limits;

  return function readRequest(call, next): Promise<Answer> {
    const { ctx, bodyBytes } = call;
    requirePlain(ctx, wanted);
    const type = bodyBytes === 0 ? json : ctx.is(json, multipart);
    if (!type) throw new GatewayError('unsupported_media_type', wanted);
    if (Number.isFinite(bodyBytes) && bodyBytes > maxJobBytes) throw bodyTooLarge(maxJobBytes);
    const yieldToEventLoop = createYieldToEventLoop();
    return receive(call, inboundBudget, {
      read: (watch): Promise<Buffer | JobForm> =>
        type === json ? readText(call, watch) : readFiles(ctx, watch),
      use: async (read) => {
        const requested =
          'fields' in read ? readJobForm(read) : await readJobJson(read, limits, yieldToEventLoop);
        return next({ requested, yieldToEventLoop });
      },
    });
  };

  async function readText({ ctx, bodyBytes }: HttpCall, watch: BodyWatch): Promise<Buffer> {
    if (bodyBytes === 0) return Buffer.alloc(0);
    const reading = readBytes(ctx.req, { maxBytes: maxJobBytes, signal: watch.signal });
    return Buffer.from((await meterBody(ctx.req, reading, watch)).buffer);
  }

  function readFiles(ctx: CallContext, watch: BodyWatch): Promise<JobForm> {
    const gather = () => createJobParts(limits);
    const reading = readParts(ctx.req, ctx.get('content-type'), gather, watch.signal);
    return meterBody(ctx.req, reading, watch);
  }
}

/** Reads what a form asks for: `service`, `webhook`, fields and files. */
function readJobForm({ fields, files, problems }: JobForm): RequestedJob {
  const requested: RequestedJob = { files, problems: [...problems] };
  const shared: [string, string][] = [];
  for (const [name, bytes] of fields) {
    const text = readUtf8(bytes, fieldName(name));
    if ('problems' in text) {
      requested.problems.push(...text.problems);
      continue;
    }
    if (name === 'service') readService(requested, text.value);
    else if (name !== 'webhook') shared.push([name, text.value]);
    // An empty one is a form's field that was left empty.
    else if (text.value !== '') readWebhookField(requested, text.value);
  }
  const isReported = requested.problems.some(({ field }) => field === 'service');
  if (!fields.has('service') && !isReported)
    requested.problems.push({ field: 'service', problem: 'is required' });
  requested.fields = shared;
  return requested;
}

interface JobPartLimits extends MultipartLimits {
  maxJobBytes: number;
}

/** What stood in a form: text fields as bytes, of which UTF-8 is still to be checked, and files in their order. */
interface JobForm extends Pick<RequestedJob, 'problems'> {
  fields: Map<string, Uint8Array>;
  files: RequestedFile[];
}

const maxFields = 100;
const firstTextBytes = 256;
const firstFileBytes = 8 * 1024;

type Part =
  | { kind: 'text'; into: GrowingBuffer | undefined }
  | { kind: 'file'; into: GrowingBuffer; header: PartHeader; field: string | undefined };

/** Gathers the parts of a form that makes a job: each text field may come once, files as often as a job may have items. */
function createJobParts({ maxJobBytes, maxFileBytes, maxTextBytes }: JobPartLimits): Parts<JobForm> {
  const names = createPartNames();
  const texts = new Map<string, GrowingBuffer>();
  const files: RequestedFile[] = [];
  let part: Part | undefined;
  let received = 0;
  let text = 0;
  let fields = 0;
  let fileParts = 0;

  function count(bytes: number): void {
    received += bytes;
    if (received > maxJobBytes) throw bodyTooLarge(maxJobBytes);
  }

  function startFile(header: PartHeader): Part {
    fileParts += 1;
    if (fileParts > mostItems + maxFields) {
      throw inputError([{ field: 'file', problem: `must be given at most ${mostItems} times` }]);
    }
    const into = createGrowingBuffer(maxFileBytes, firstFileBytes);
    return { kind: 'file', into, header, field: names.read(header.name) };
  }

  function startText(header: PartHeader): Part {
    fields += 1;
    if (fields > maxFields) {
      throw inputError([{ field: 'body', problem: `must not hold more than ${maxFields} text fields` }]);
    }
    const name = names.readOnce(header.name);
    if (name === undefined) return { kind: 'text', into: undefined };
    const into = createGrowingBuffer(maxTextBytes, firstTextBytes);
    texts.set(name, into);
    return { kind: 'text', into };
  }

  /** A file that is here whole holds no more memory than it has bytes. */
  function endPart(): void {
    const ended = part;
    part = undefined;
    if (ended?.kind !== 'file' || ended.field === undefined) return;
    const { field, into, header } = ended;
    const bytes = into.bytes();
    // What a browser sends of a field in which no file was chosen.
    if (bytes.length === 0 && header.fileName === '') return;
    const named = header.fileName ? { name: header.fileName } : {};
    files.push({ field, bytes, type: fileType(header.type, header.fileName), ...named });
  }

  return {
    listener: {
      onPart(header) {
        endPart();
        part = header.file ? startFile(header) : startText(header);
      },
      onContent(bytes) {
        count(bytes.length);
        if (part?.kind === 'file') {
          if (part.into.add(bytes)) return;
          const message = `File ${fileParts} of the form is larger than the ${maxFileBytes} bytes that are accepted.`;
          throw new GatewayError('too_large', { message });
        }
        text += bytes.length;
        if (text > maxTextBytes) {
          const message = `The text fields of the form are larger than the ${maxTextBytes} bytes that are accepted.`;
          throw new GatewayError('too_large', { message });
        }
        part?.into?.add(bytes);
      },
      onFraming: count,
    },
    take() {
      endPart();
      for (const name of names.twice) texts.delete(name);
      const gathered = [...texts].map(([name, into]): [string, Uint8Array] => [name, into.bytes()]);
      return { fields: new Map(gathered), files, problems: names.problems };
    },
    drop() {
      texts.clear();
      files.length = 0;
      part = undefined;
    },
  };
}
