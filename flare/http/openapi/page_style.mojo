"""The style of the page about an API."""

comptime PAGE_STYLE = StaticString(
    """
:root{color-scheme:light dark;--back:#fff;--text:#1b1b1b;--soft:#5f5f5f;
--line:#d4d4d4;--edge:#808080;--code:#f3f3f1;--link:#0b57d0;--good:#14702c;--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--back:#141414;--text:#e4e4e4;
--soft:#a5a5a5;--line:#3d3d3d;--edge:#7a7a7a;--code:#232323;--link:#8ab4f8;--good:#7fd79a;
--bad:#ff9e94}}
*{box-sizing:border-box}
body{font:16px/1.5 system-ui,sans-serif;max-width:58rem;margin:2rem auto;
padding:0 1rem;background:var(--back);color:var(--text)}
a{color:var(--link)}small{color:var(--soft);font-weight:400}
code,pre,textarea,input{font:14px/1.45 ui-monospace,monospace}
h1{margin:0}h2{font-size:1.15rem;margin:.5rem 0;overflow-wrap:anywhere}
h2 small{font-size:.85rem}
h3{font-size:.9rem;margin:.8rem 0 .2rem;color:var(--soft)}
.schema h3{font-size:1rem;color:inherit}
section,nav,body>h2{border-top:1px solid var(--line);padding:.6rem 0}
:target{outline:2px solid var(--link);outline-offset:4px}
p{margin:.3rem 0}b{display:inline-block;min-width:3.8rem}
table{border-collapse:collapse;font-size:.95rem}
td{padding:.15rem 1.2rem .15rem 0;text-align:left;vertical-align:top}
td:last-child{overflow-wrap:anywhere;padding-right:0}
td table{border-left:2px solid var(--line);margin:.2rem 0}
td table td:first-child{padding-left:.8rem}
pre{overflow:auto;margin:.6rem 0;padding:.6rem .8rem;background:var(--code);
border-radius:6px;border-left:4px solid var(--line);white-space:pre-wrap;
overflow-wrap:anywhere}pre:empty{display:none}
pre[data-status^="2"]{border-left-color:var(--good)}
pre[data-status^="4"],pre[data-status^="5"],pre[data-status=none]{
border-left-color:var(--bad)}
details{margin:.6rem 0}summary{cursor:pointer;color:var(--link)}
label{display:block;margin:.5rem 0}
input,textarea{width:100%;padding:.35rem .5rem;color:inherit;
background:var(--back);border:1px solid var(--edge);border-radius:4px}
button{font:inherit;padding:.35rem 1rem;margin:.3rem 0}
@media(max-width:40rem){table,tbody,tr{display:block}td{display:inline-block;
padding-right:.7rem}nav tr,table tr{padding:.2rem 0}}
"""
)
"""Light and dark by the reader's choice, forms included: `color-scheme` has the
browser draw its own parts likewise."""
