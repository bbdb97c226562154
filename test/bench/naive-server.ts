/**
 * What one would write oneself in an afternoon: a server that takes an upload and answers it with a border, by sharp as it
 * comes. The bench compares the gateway with it. Prints its url.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import sharp from 'sharp';

const app = new Koa();
app.use(koaBody({ multipart: true, formidable: { maxFileSize: 10 * 1024 * 1024 } }));
app.use(async (ctx) => {
  const file = ctx.request.files?.file;
  const format = String((ctx.request.body as { format?: string }).format ?? 'png');
  const path = Array.isArray(file) ? file[0]?.filepath : file?.filepath;
  const border = { top: 20, right: 20, bottom: 20, left: 20, background: '#000000' };
  ctx.type = format;
  ctx.body = await sharp(path)
    .autoOrient()
    .extend(border)
    .toFormat(format === 'jpg' ? 'jpeg' : (format as 'png' | 'webp'))
    .toBuffer();
});
const server = createServer(app.callback());
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
