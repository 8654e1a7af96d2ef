"""Whether this machine can measure well: what `loadstone doctor` says."""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loadstone.serve.pages import page


async def _doctor(request: Request) -> Response:
    from loadstone.deploy.doctor import facts  # only now: what it examines takes time to load

    return page(request, "doctor.html", facts=await run_in_threadpool(facts))


routes = (Route("/doctor", _doctor, name="doctor"),)
