"""The frame of the profile page: style and the timeline's script, no outside resources."""

PAGE = """<!doctype html>
<html lang="$lang"><head><meta charset="utf-8"><title>$title</title><style>
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;color:#1b1f24}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}h3{font-size:1rem;margin-bottom:.2rem}
table{border-collapse:collapse;width:100%}td{border-bottom:1px solid #ddd;padding:.2rem .6rem .2rem 0;
word-break:break-all}td:not(:first-child){white-space:nowrap;text-align:right}
.verdict{font-size:1.2rem;font-weight:600}
.dim{color:#667}canvas{width:100%;height:220px;border:1px solid #ccd;
cursor:grab}#tip{min-height:1.5em;font-family:monospace}
@media(prefers-color-scheme:dark){body{background:#14171c;color:#dde}td{border-color:#333}}
</style></head><body>
<h1>$title</h1><p class="verdict">$verdict</p><p class="dim">$source</p>
<h2>$timeline</h2><canvas id="t"></canvas><div id="tip" class="dim">$help</div>
<h2>$head</h2>$findings
$phases$gaps$syncs$ops
<script id="lanes" type="application/json">$lanes</script>
<script>
const lanes=JSON.parse(document.getElementById("lanes").textContent);
const c=document.getElementById("t"),g=c.getContext("2d"),tip=document.getElementById("tip");
const colors={device:"#2f81f7",sync:"#e5534b",host:"#8b949e",marks:"#57ab5a"};
let lo=Infinity,hi=-Infinity;
for(const l of lanes)for(const b of l.boxes){lo=Math.min(lo,b[0]);hi=Math.max(hi,b[0]+b[1]);}
const all=[lo,hi];let a=lo,z=hi;
function first(boxes,t){let l=0,r=boxes.length;while(l<r){const m=(l+r)>>1;
  if(boxes[m][0]<t)l=m+1;else r=m;}return Math.max(0,l-1);}
function draw(){const w=c.width=c.clientWidth,h=c.height=c.clientHeight,n=lanes.length||1,row=(h-20)/n;
  g.clearRect(0,0,w,h);lanes.forEach((l,i)=>{const y=20+i*row;g.fillStyle=colors[l.title]||"#888";
    for(let k=first(l.boxes,a);k<l.boxes.length;k++){const b=l.boxes[k];if(b[0]>z)break;
      const x=(b[0]-a)/(z-a)*w,d=Math.max(1,b[1]/(z-a)*w);g.fillRect(x,y+14,d,row-18);}
    g.fillStyle="#888";g.font="11px sans-serif";g.fillText(l.title,2,y+10);});
  g.fillStyle="#888";g.fillText((a/1000).toFixed(3)+" ms",2,10);
  const e=(z/1000).toFixed(3)+" ms";g.fillText(e,w-g.measureText(e).width-2,10);}
c.onwheel=e=>{e.preventDefault();const f=e.deltaY<0?.8:1.25,m=a+e.offsetX/c.clientWidth*(z-a);
  a=Math.max(all[0],m-(m-a)*f);z=Math.min(all[1],m+(z-m)*f);draw();};
let drag=null;c.onmousedown=e=>drag=[e.offsetX,a,z];window.onmouseup=()=>drag=null;
c.onmousemove=e=>{if(drag){const s=(drag[0]-e.offsetX)/c.clientWidth*(drag[2]-drag[1]);
    a=drag[1]+s;z=drag[2]+s;draw();return;}
  const t=a+e.offsetX/c.clientWidth*(z-a),row=(c.clientHeight-20)/(lanes.length||1);
  const l=lanes[Math.floor((e.offsetY-20)/row)];if(!l)return;
  for(let k=first(l.boxes,t);k<l.boxes.length&&l.boxes[k][0]<=t;k++){const b=l.boxes[k];
    if(t<=b[0]+b[1]){
      tip.textContent=l.names[b[2]]+(b[3]>1?" (+"+(b[3]-1)+")":"")+"  "+b[1].toFixed(1)+" us";return;}}};
c.ondblclick=()=>{a=all[0];z=all[1];draw();};window.onresize=draw;draw();
</script></body></html>
"""
